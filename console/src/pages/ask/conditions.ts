import { isQuestion, type Question } from './question.ts'

/** How the parts of a group decide: all or any must hold, or the opposite of either. */
export type Combination = 'all' | 'any' | 'not-all' | 'none'

/** Tests of columns, and groups of them, that decide together. */
export interface ConditionGroup {
  readonly combine: Combination
  readonly parts: readonly ConditionPart[]
  /** True if the group is written as a list although it has one part, which keeps a group that was just begun. */
  readonly isList?: boolean
}

export type ConditionPart =
  | { readonly kind: 'test'; readonly test: Question }
  | { readonly kind: 'group'; readonly group: ConditionGroup }

/** Levels of groups that the form offers. With negations they stay within the depth that the service accepts. */
export const MOST_LEVELS = 5

const NO_CONDITION: ConditionGroup = { combine: 'all', parts: [] }

/** Returns a predicate as a group of conditions, or undefined if it is no predicate. */
export function groupOf(predicate: unknown): ConditionGroup | undefined {
  if (predicate === undefined) return NO_CONDITION
  if (!isQuestion(predicate)) return undefined
  const { op, predicates, predicate: negated } = predicate
  if (isTest(predicate)) return { combine: 'all', parts: [{ kind: 'test', test: predicate }] }
  if (op === 'not') {
    const inner = negated === undefined ? undefined : groupOf(negated)
    if (inner === undefined) return undefined
    if (isNegated(inner)) return { combine: 'not-all', parts: [{ kind: 'group', group: inner }] }
    return { ...inner, combine: inner.combine === 'all' ? 'not-all' : 'none' }
  }
  if ((op !== 'and' && op !== 'or') || !Array.isArray(predicates)) return undefined
  const parts = predicates.map(partOf)
  if (!parts.every((part) => part !== undefined) || parts.length === 0) return undefined
  return { combine: op === 'and' ? 'all' : 'any', parts, isList: true }
}

function partOf(predicate: unknown): ConditionPart | undefined {
  if (isTest(predicate)) return { kind: 'test', test: predicate }
  const group = predicate === undefined ? undefined : groupOf(predicate)
  return group === undefined ? undefined : { kind: 'group', group }
}

/** Returns the predicate of a group, or undefined if the group has no part. */
export function predicateOf({ combine, parts, isList }: ConditionGroup): Question | undefined {
  const predicates = parts
    .map((part) => (part.kind === 'test' ? part.test : predicateOf(part.group)))
    .filter((predicate) => predicate !== undefined)
  const [first] = predicates
  if (first === undefined) return undefined
  const op = combine === 'all' || combine === 'not-all' ? 'and' : 'or'
  const listed = predicates.length > 1 || isList === true ? { op, predicates } : first
  return combine === 'not-all' || combine === 'none' ? { op: 'not', predicate: listed } : listed
}

/** Returns the predicate of the whole condition, where a list of one part is that part. */
export function wholePredicateOf(group: ConditionGroup): Question | undefined {
  return predicateOf({ ...group, isList: false })
}

function isNegated({ combine }: ConditionGroup): boolean {
  return combine === 'not-all' || combine === 'none'
}

function isTest(predicate: unknown): predicate is Question {
  return isQuestion(predicate) && typeof predicate.column === 'string'
}
