import type { coverageReport as report } from '../../../schemas/answers/answer.ts'
import type { Coverage, Dataset } from '../../core/dataset/dataset.ts'
import { isJoined } from '../../core/dataset/joins.ts'
import { questionKinds } from '../../core/planner/kinds/question-kinds.ts'
import { clampsOf } from '../../core/planner/language/clamp.ts'
import type { ContributionReport } from '../../core/planner/language/contribution.ts'
import type { Plan } from '../../core/planner/plans/plan-kinds.ts'
import { epsilonNumber } from '../../privacy/loss.ts'
import { type PersonUnit, plausibleRowsOf } from '../../privacy/neighbours.ts'
import type { Wire } from '../../privacy/wire.ts'

/** What a half-width does not cover, as far as it is known. */
export type CoverageReport = Wire<typeof report>

/** The parts of a question on which it depends which rows are left out. */
interface Selection {
  readonly dataset: Dataset
  readonly contribution?: ContributionReport | undefined
  /** The condition on rows, as it was asked. */
  readonly where?: object | undefined
  /** The part of the rows that one number is about; absent for all rows. */
  readonly part?: 'one group' | 'the rows that satisfy the condition' | 'one question' | undefined
  /** What is computed: a number of rows or people, a sum of rows, or a number that describes the rows or people. */
  readonly subject: 'rows' | 'people' | 'description'
}

/** States what the half-widths of an answer do not cover. It is public before the question is paid for. */
export function coverageReport({ query, dataset, contribution }: Plan): CoverageReport {
  if (query.kind === 'contributionProfile')
    return { statement: `${NOISE_ONLY} Rows beyond maxRows count here as well.` }
  const { where } = query
  const part = questionKinds[query.kind].inCells
    ? 'one group'
    : where === undefined
      ? undefined
      : 'the rows that satisfy the condition'
  const stated = coverageOfSelection({ dataset, contribution, where, part, subject: subjectOf(query) })
  const clamps = clampsOf(query, dataset).map(clampText)
  return clamps.length === 0 ? stated : { ...stated, statement: [stated.statement, ...clamps].join(' ') }
}

/** Says what a clamp does. Its bias is the choice of who asks. */
function clampText({ column, lower, upper }: ReturnType<typeof clampsOf>[number]): string {
  return (
    `The question clamps ${column} to ${lower} and ${upper}: smaller values count as ${lower}, larger ones as ${upper}, ` +
    'which moves the value itself.'
  )
}

function subjectOf(query: Plan['query']): Selection['subject'] {
  if ('of' in query && query.of === 'people') return 'people'
  return questionKinds[query.kind].addsUp ? 'rows' : 'description'
}

/** The same for every answer, whether or not a value was clamped, because that depends on the data. */
const NOISE_ONLY =
  'The half-width covers noise only: not the clamping of values to the bounds of their column.'

/** States what an answer leaves out; as {@link coverageReport}. */
export function coverageOfSelection(selection: Selection): CoverageReport {
  const { dataset, part, subject } = selection
  const { privacyUnit, coverage } = dataset
  if (privacyUnit.kind === 'row') return { statement: NOISE_ONLY }
  if (subject === 'people' && part === undefined)
    return {
      statement: [
        NOISE_ONLY,
        'Every person counts, whatever the number of rows.',
        ...factsText(dataset),
      ].join(' '),
    }
  const sentences = [
    NOISE_ONLY,
    leftOutText(coverage, privacyUnit),
    ...factsText(dataset),
    ...(part === undefined ? [] : [partText(part)]),
    ...boundedText(selection, privacyUnit.maxRows),
    ...(subject === 'description' ? ['The answer describes the rows that count, not all rows.'] : []),
  ]
  const offer = part === undefined ? undefined : offerOf(selection)
  return {
    statement: sentences.join(' '),
    ...(coverage === undefined ? {} : { shareRead: coverage.shareRead }),
    ...(offer === undefined ? {} : { offer }),
  }
}

/** Says what `maxRows` leaves out of a dataset; `undefined` where rows are the privacy units. */
export function coverageStatement(dataset: Dataset): string | undefined {
  const { privacyUnit, coverage } = dataset
  if (privacyUnit.kind === 'row') return undefined
  return [leftOutText(coverage, privacyUnit), ...factsText(dataset)].join(' ')
}

/** Says what a join of two facts leaves out, which `coverage` does not measure. */
function factsText({ source }: Dataset): string[] {
  const joins = isJoined(source) ? source.joins : []
  return joins.flatMap(({ maxRows }) => {
    if (maxRows === undefined) return []
    const [tables, numbers] = [Object.keys(maxRows), Object.values(maxRows)].map((each) => each.join(' and '))
    return [
      `Each row combines ${tables} of one person: people with rows of one alone, and rows of a person beyond ${numbers} of them, ` +
        'are not among these.',
    ]
  })
}

function leftOutText(coverage: Coverage | undefined, unit: PersonUnit): string {
  const { maxRows } = unit
  const beyond = `beyond ${maxRows} per person and are not counted`
  if (coverage === undefined) return `How many rows are ${beyond} is not known.`
  const { value, lower, upper } = coverage.shareRead
  if (lower === 0 && upper === 1)
    return `How many rows are ${beyond} is not known: the estimate is too uncertain to say.`
  const [about, least, most] = [value, upper, lower].map((share) => percent(1 - share))
  // Where there may be none, the estimate is mostly noise, and it is far too large among few people.
  const share = upper === 1 ? `At most ${most}` : `About ${about}`
  const range = upper === 1 ? '' : ` (${least} to ${most})`
  return [
    `${share} of the rows${range} are ${beyond}.`,
    ...implausibleText(coverage, plausibleRowsOf(unit)),
  ].join(' ')
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(1))}%`
}

function implausibleText({ implausiblePeople: { lower, upper } }: Coverage, plausibleRows: number): string[] {
  if (lower === 0) return []
  return [
    `That does not include rows beyond ${plausibleRows} of one person, which ${lower} to ${upper} people have: their number is unknown.`,
  ]
}

function partText(part: NonNullable<Selection['part']>): string {
  return (
    `This is the share in the whole dataset. In ${part} it can be nothing or most: ask for a contributionProfile with the ` +
    'same condition, which counts people by all of their rows there.'
  )
}

/** A bound below `maxRows` leaves out more. */
function boundedText({ contribution }: Selection, maxRows: number): string[] {
  if (contribution === undefined) return []
  if ('rows' in contribution && contribution.rows >= maxRows) return []
  return [
    'The bounds of the contribution leave out more rows than that; a contributionProfile shows how many rows people have.',
  ]
}

/** The question that measures a part. */
function offerOf({ dataset: { leftOutNano }, where }: Selection): CoverageReport['offer'] {
  if (leftOutNano === undefined || leftOutNano === 0n) return undefined
  return {
    kind: 'contributionProfile',
    ...(where === undefined ? {} : { where }),
    epsilon: epsilonNumber(leftOutNano),
  }
}
