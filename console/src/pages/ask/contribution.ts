import type { Column, DatasetFacts } from './kinds.ts'
import { isQuestion, type Question, withField } from './question.ts'

/** What bounds the rows of each person: the limit of the dataset, or a smaller number of rows or of groups. */
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

/** Returns the bounds that a question may state, or undefined if the rows of a dataset are not people's. */
export function contributionChoices(
  question: Question,
  { columns, privacyUnit }: DatasetFacts,
): ContributionChoices | undefined {
  if (privacyUnit.kind === 'row') return undefined
  const { kind, column } = question
  // Each person counts once for each undeclared value.
  const hasKeys = kind === 'keySelection' || (kind === 'countDistinct' && isText(column, columns))
  const clamped = clampedColumn(question)
  return {
    maxRows: privacyUnit.maxRows,
    groups: hasKeys || hasGroups(question),
    rowsPerGroup: !hasKeys,
    clamped: columns.find(({ name }) => name === clamped),
  }
}

function isText(name: unknown, columns: readonly Column[]): boolean {
  return columns.some((column) => column.name === name && column.type === 'string')
}

function hasGroups({ kind, keys, candidates }: Question): boolean {
  switch (kind) {
    case 'histogram':
    case 'contingency':
    case 'topGroups':
      return true
    case 'groupBy':
      return Array.isArray(keys) && keys.length > 0
    case 'noisyMax':
      return isQuestion(candidates) && 'column' in candidates
    default:
      return false
  }
}

/** Kinds that can describe one value of each person in place of rows. */
const OF_PERSON_VALUES: readonly unknown[] = ['median', 'percentile', 'minimum', 'maximum']

/** Returns the name of the column whose totals a question can clamp. */
function clampedColumn({ kind, column, perPerson, statistics }: Question): unknown {
  if (kind === 'sum' || kind === 'mean') return column
  if (OF_PERSON_VALUES.includes(kind)) return perPerson === undefined ? undefined : column
  if (kind !== 'groupBy' || !Array.isArray(statistics)) return undefined
  const totals = statistics.filter(
    (each) => isQuestion(each) && (each.kind === 'sum' || each.kind === 'mean'),
  )
  const [name, ...others] = new Set(totals.map((each) => each.column))
  return others.length === 0 ? name : undefined
}

/** Returns what bounds the rows of each person in a question. */
export function boundedBy({ contribution }: Question): BoundedBy {
  if (!isQuestion(contribution)) return 'dataset'
  if ('groups' in contribution) return 'groups'
  return 'rows' in contribution ? 'rows' : 'dataset'
}

/** Returns a question in which another bound limits the rows of each person. */
export function withBound(question: Question, by: BoundedBy, { maxRows }: ContributionChoices): Question {
  const { perPerson } = contributionOf(question)
  const clamp = perPerson === undefined ? {} : { perPerson }
  switch (by) {
    case 'dataset':
      return withContribution(question, clamp)
    case 'rows':
      return withContribution(question, { rows: Math.max(1, Math.floor(maxRows / 2)), ...clamp })
    case 'groups':
      return withContribution(question, { groups: Math.max(1, Math.floor(maxRows / 2)), ...clamp })
  }
}

/** Returns a question with one bound; one row in each group is the default. */
export function withLimit(
  question: Question,
  name: 'rows' | 'groups' | 'rowsPerGroup',
  value: number,
): Question {
  const limit = name === 'rowsPerGroup' && value === 1 ? undefined : value
  return withContribution(question, withField(contributionOf(question), name, limit))
}

/** Returns a question that clamps the total of each person, or does not. */
export function withClamp(
  question: Question,
  clamp: { readonly lower: number; readonly upper: number } | undefined,
): Question {
  return withContribution(question, withField(contributionOf(question), 'perPerson', clamp))
}

/** Returns the first bounds of a clamp: those of one row and 0, or of a number of rows. */
export function initialClamp(
  { perPerson }: Question,
  { clamped: column, maxRows }: ContributionChoices,
): { readonly lower: number; readonly upper: number } {
  if (perPerson === 'count' || (column?.type !== 'integer' && column?.type !== 'number'))
    return { lower: 0, upper: maxRows }
  return { lower: Math.min(0, column.lower), upper: Math.max(0, column.upper) }
}

/** Returns a question without the bounds that it cannot state. */
export function withFittingContribution(question: Question, dataset: DatasetFacts): Question {
  if (question.contribution === undefined) return question
  const choices = contributionChoices(question, dataset)
  if (choices === undefined || !isQuestion(question.contribution))
    return withField(question, 'contribution', undefined)
  const { groups, rowsPerGroup, perPerson, ...others } = question.contribution
  const grouped =
    !choices.groups || groups === undefined
      ? {}
      : { groups, ...(choices.rowsPerGroup && rowsPerGroup !== undefined ? { rowsPerGroup } : {}) }
  const clamp = choices.clamped === undefined || perPerson === undefined ? {} : { perPerson }
  return withContribution(question, { ...others, ...grouped, ...clamp })
}

function contributionOf({ contribution }: Question): Question {
  return isQuestion(contribution) ? contribution : {}
}

function withContribution(question: Question, contribution: Question): Question {
  return withField(
    question,
    'contribution',
    Object.keys(contribution).length === 0 ? undefined : contribution,
  )
}
