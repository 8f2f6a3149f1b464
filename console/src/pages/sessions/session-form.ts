import { defined } from '../../../../src/privacy/defined.ts'
import type { Schemas } from '../../api/schemas.ts'
import { isWhole, numberOf } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset.ts'

export type SessionRequest = Schemas['SessionRequest']

/** Terms of a session as they were entered, and the page of the list of sessions. The address contains them. */
export type SessionForm = {
  readonly threshold: string
  readonly positives: string
  readonly epsilon: string
  readonly of: 'rows' | 'people'
  /** Largest number of rows of each person; empty for the limit of the dataset. */
  readonly rows: string
  /** `yes` opens a further session even if one with these terms was paid for. */
  readonly again: '' | 'yes'
  /** Page of the list of sessions; empty for the newest. */
  readonly cursor: string
}

/** Facts of a dataset on which the terms depend. */
type DatasetFacts = Pick<Dataset, 'privacyUnit' | 'rows'>

/** Most answers `above` that a session may have. */
const MOST_POSITIVES = 100

/** Returns the form of a new session. Its threshold is empty unless the number of rows is public. */
export function initialForm({ rows }: Pick<DatasetFacts, 'rows'>): SessionForm {
  return {
    threshold: rows === undefined ? '' : String(Math.ceil(Number((rows / 2).toPrecision(1)))),
    positives: '3',
    epsilon: '0.5',
    of: 'rows',
    rows: '',
    again: '',
    cursor: '',
  }
}

/** Returns a form with the terms of a session that exists, to open a further one. */
export function formLike(asked: Readonly<Record<string, unknown>>, facts: DatasetFacts): SessionForm {
  const { threshold, positives, epsilon, of, contribution } = asked
  const rows = (contribution as SessionRequest['contribution'])?.rows
  return {
    ...initialForm(facts),
    threshold: String(threshold),
    positives: String(positives),
    epsilon: String(epsilon),
    of: of === 'people' ? 'people' : 'rows',
    rows: rows === undefined ? '' : String(rows),
    again: 'yes',
  }
}

type TermName = 'threshold' | 'positives' | 'epsilon' | 'rows'

/** Request that a form describes, or the rules that its fields break. An empty field breaks one. */
export type ReadTerms =
  | { readonly kind: 'complete'; readonly request: SessionRequest }
  | { readonly kind: 'open'; readonly rules: Readonly<Partial<Record<TermName, string>>> }

/** Reads the terms of a form. The service checks the values against the limits of the dataset. */
export function readTerms(form: SessionForm, { privacyUnit }: DatasetFacts): ReadTerms {
  const threshold = numberOf(form.threshold)
  const positives = numberOf(form.positives)
  const epsilon = numberOf(form.epsilon)
  // People who are counted count once, with any number of rows.
  const isLimited = privacyUnit.kind === 'person' && form.of === 'rows' && form.rows.trim() !== ''
  const rows = isLimited ? numberOf(form.rows) : undefined
  const rule = (holds: boolean, text: string) => (holds ? undefined : text)
  const rules = defined({
    threshold: rule(isWhole(threshold, 0), 'must be a whole number of at least 0'),
    positives: rule(
      isWhole(positives, 1, MOST_POSITIVES),
      `must be a whole number from 1 to ${MOST_POSITIVES}`,
    ),
    epsilon: rule(epsilon !== undefined && epsilon > 0, 'must be a number above 0'),
    rows: rule(!isLimited || isWhole(rows, 1), 'must be a whole number of at least 1, or empty'),
  })
  const isOpen = Object.keys(rules).length > 0
  if (threshold === undefined || positives === undefined || epsilon === undefined || isOpen)
    return { kind: 'open', rules }
  const of = privacyUnit.kind === 'person' && form.of === 'people' ? ('people' as const) : undefined
  const contribution = rows === undefined ? undefined : { rows }
  return { kind: 'complete', request: defined({ threshold, positives, epsilon, of, contribution }) }
}

/** Makes a key with which one opening, and its repeats, are told from other openings with the same terms. */
export function newKey(): string {
  // `randomUUID` is missing on pages without HTTPS.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}
