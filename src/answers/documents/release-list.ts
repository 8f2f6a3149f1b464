import { stringify } from 'csv-stringify/sync'
import type { ListedRelease, ReleasePage, ReleasePosition } from '../../ledger/contract/releases.ts'
import { MAX_TIME_MS } from '../../ledger/range.ts'
import { amountNumbers } from '../../privacy/accounting.ts'
import { OWN } from '../inference/known.ts'

/** The public facts about a release. */
interface ReleaseEntry {
  readonly id: string
  readonly dataset: string
  readonly datasetVersion: string
  readonly kind: string
  readonly analyst: string
  readonly question: object
  readonly answeredAt: string
  readonly softwareVersion: string
  readonly price: ReturnType<typeof amountNumbers>
  readonly shared?: true
  readonly inferredFrom?: readonly string[]
}

/** Serializes a page of releases as JSON. The stored answers are included as they are. */
export function releasesJson({ releases, next }: ReleasePage): string {
  const entries = releases.map((release) => {
    const entry = JSON.stringify(entryOf(release))
    return `${entry.slice(0, -1)},"answer":${release.answer}}`
  })
  const rest = next === undefined ? '' : `,"next":"${cursorOf(next)}"`
  return `{"releases":[${entries.join(',')}]${rest}}`
}

const COLUMNS = [
  'id',
  'dataset',
  'datasetVersion',
  'kind',
  'analyst',
  'question',
  'answeredAt',
  'softwareVersion',
  'epsilon',
  'delta',
  'rho',
  'shared',
  'inferredFrom',
  'answer',
] as const

/**
 * Serializes a page of releases as CSV (RFC 4180) with a header. Texts that a spreadsheet would take for a formula begin
 * with an apostrophe: names of analysts and texts in questions are chosen by others.
 */
export function releasesCsv({ releases }: ReleasePage): string {
  const rows = releases.map((release) => {
    const { price, question, inferredFrom = [], ...facts } = entryOf(release)
    const texts = { question: JSON.stringify(question), inferredFrom: inferredFrom.join(' ') }
    return { ...facts, ...price, ...texts, answer: release.answer }
  })
  return stringify(rows, {
    header: true,
    columns: [...COLUMNS],
    record_delimiter: 'windows',
    escape_formulas: true,
    // The library quotes line breaks of the delimiter only. Spreadsheets begin a row at any.
    quoted_match: /[\r\n]/,
    cast: { boolean: String },
  })
}

function entryOf({ id, dataset, datasetVersion, kind, principal, ...release }: ListedRelease): ReleaseEntry {
  const { answeredAtMs, price, shared, answer } = release
  const { question, softwareVersion, inference }: StoredAnswer = JSON.parse(answer)
  return {
    id,
    dataset,
    datasetVersion,
    kind,
    analyst: principal,
    question,
    answeredAt: new Date(answeredAtMs).toISOString(),
    softwareVersion,
    price: amountNumbers(price),
    ...(shared ? { shared } : {}),
    ...(inference === undefined ? {} : { inferredFrom: parentsIn(inference) }),
  }
}

/** The parts of a stored answer that a list repeats. */
interface StoredAnswer {
  readonly question: object
  readonly softwareVersion: string
  readonly inference?: Inference
}

interface Inference {
  readonly releases: readonly { readonly id: string }[]
}

/** The releases that an answer follows from, other than itself. */
function parentsIn({ releases }: Inference): readonly string[] {
  return [...new Set(releases.map(({ id }) => id).filter((id) => id !== OWN))]
}

/** Text of a position in a list. It contains only what the list shows. */
export function cursorOf({ answeredAtMs, id }: ReleasePosition): string {
  return `${answeredAtMs}-${id}`
}

/** Position of a text that {@link cursorOf} returned. See decision 44. */
export function positionOf(cursor: string): ReleasePosition {
  const [answeredAtMs = '', id = ''] = cursor.split('-')
  return { answeredAtMs: Math.min(Number(answeredAtMs), MAX_TIME_MS), id }
}
