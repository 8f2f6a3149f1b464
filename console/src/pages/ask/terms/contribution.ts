import { defined } from '../../../../../src/privacy/defined.ts'
import { KINDS } from '../../../api/kinds.ts'
import type { Column, DatasetFacts } from '../../datasets/dataset.ts'
import { fieldValue, type Question, withField } from '../question/question.ts'

type Bounded = Extract<Question, { contribution?: object }>
type Contribution = NonNullable<Bounded['contribution']>
type Clamp = NonNullable<Contribution['perPerson']>

/** Bound on the rows of each person: the limit of the dataset, or a smaller number of rows or of groups. */
export type BoundedBy = 'dataset' | 'rows' | 'groups'

/** Bounds on what each person contributes that a question may state. */
export interface ContributionChoices {
  /** Most rows of each person that the dataset keeps. */
  readonly maxRows: number
  /** True if the groups of each person can be bounded. */
  readonly groups: boolean
  /** True if more than one row of each group can count. */
  readonly rowsPerGroup: boolean
  /** The column whose total of each person can be clamped; `undefined` if nothing can. */
  readonly clamped: Column | undefined
}

/** Returns the bounds that a question may state, or undefined if rows are not people's or the kind has none. */
export function contributionChoices(
  question: Question,
  { columns, privacyUnit }: DatasetFacts,
): ContributionChoices | undefined {
  if (privacyUnit.kind === 'row' || !KINDS[question.kind].terms.includes('contribution')) return undefined
  const columnNamed = (wanted: unknown) => columns.find(({ name }) => name === wanted)
  // Each person counts once for each undeclared value.
  const hasKeys = Object.entries(KINDS[question.kind].fields).some(
    ([name, field]) =>
      field.columns?.selectable !== undefined && columnNamed(fieldValue(question, name))?.type === 'string',
  )
  return {
    maxRows: privacyUnit.maxRows,
    groups: hasKeys || hasGroups(question),
    rowsPerGroup: !hasKeys,
    clamped: columnNamed(clampedColumn(question)),
  }
}

function hasGroups(question: Question): boolean {
  if (KINDS[question.kind].grouped === undefined) return false
  if ('keys' in question) return question.keys.length > 0
  return !('candidates' in question) || 'column' in question.candidates
}

/** Returns the name of the column whose totals a question can clamp. */
function clampedColumn(question: Question): unknown {
  if ('statistics' in question) {
    const totals = question.statistics.filter(({ kind }) => KINDS[kind].clamps === 'always')
    const [name, ...others] = new Set(totals.map((each) => fieldValue(each, 'column')))
    return others.length === 0 ? name : undefined
  }
  const { clamps } = KINDS[question.kind]
  const isClamped = clamps === 'always' || (clamps === 'perPerson' && 'perPerson' in question)
  return isClamped ? fieldValue(question, 'column') : undefined
}

/** Returns the bounds that a question states; undefined without any, and for a kind that has none. */
export function contributionOf(question: Question): Contribution | undefined {
  return 'contribution' in question ? question.contribution : undefined
}

/** Returns what bounds the rows of each person in a question. */
export function boundedBy(question: Question): BoundedBy {
  const contribution = contributionOf(question)
  if (contribution === undefined) return 'dataset'
  if ('groups' in contribution) return 'groups'
  return 'rows' in contribution ? 'rows' : 'dataset'
}

/** Returns a question in which another bound limits the rows of each person. */
export function withBound(question: Question, by: BoundedBy, { maxRows }: ContributionChoices): Question {
  const { perPerson } = contributionOf(question) ?? {}
  const limit = by === 'dataset' ? {} : { [by]: Math.max(1, Math.floor(maxRows / 2)) }
  return withContribution(question, { ...limit, ...defined({ perPerson }) })
}

/** Returns a question with one bound; one row in each group is the default. */
export function withLimit(
  question: Question,
  name: 'rows' | 'groups' | 'rowsPerGroup',
  value: number,
): Question {
  const limit = name === 'rowsPerGroup' && value === 1 ? undefined : value
  return withContribution(question, withField(contributionOf(question) ?? {}, name, limit))
}

/** Returns a question that clamps the total of each person, or does not. */
export function withClamp(question: Question, clamp: Clamp | undefined): Question {
  return withContribution(question, withField(contributionOf(question) ?? {}, 'perPerson', clamp))
}

/** Returns the first bounds of a clamp: those of one row and 0, or of a number of rows. */
export function initialClamp(question: Question, { clamped: column, maxRows }: ContributionChoices): Clamp {
  if (
    fieldValue(question, 'perPerson') === 'count' ||
    (column?.type !== 'integer' && column?.type !== 'number')
  )
    return { lower: 0, upper: maxRows }
  return { lower: Math.min(0, column.lower), upper: Math.max(0, column.upper) }
}

/** Returns a question without the bounds that it cannot state. */
export function withFittingContribution(question: Question, dataset: DatasetFacts): Question {
  const asked = contributionOf(question)
  if (asked === undefined) return question
  const choices = contributionChoices(question, dataset)
  if (choices === undefined) return withField(question, 'contribution', undefined)
  const { groups, rowsPerGroup, perPerson, ...others } = asked
  const isGrouped = choices.groups && groups !== undefined
  const fitting = {
    groups: isGrouped ? groups : undefined,
    rowsPerGroup: isGrouped && choices.rowsPerGroup ? rowsPerGroup : undefined,
    perPerson: choices.clamped && perPerson,
  }
  return withContribution(question, { ...others, ...defined(fitting) })
}

function withContribution(question: Question, contribution: Contribution): Question {
  const stated = Object.keys(contribution).length > 0
  return withField(question, 'contribution', stated ? contribution : undefined)
}
