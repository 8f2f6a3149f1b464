import type { ColumnTest, Predicate } from '../question/question.ts'

/** How the parts of a group decide: all or any must hold, or the opposite of either. */
export type Combination = 'all' | 'any' | 'not-all' | 'none'

/** Tests of columns, and groups of them, that decide together. */
export interface ConditionGroup {
  readonly combine: Combination
  readonly parts: readonly Predicate[]
  /** True if the group is written as a list although it has one part, which keeps a group that was just begun. */
  readonly isList: boolean
}

/** Levels of groups that the form offers. With negations they stay within the depth that the service accepts. */
export const MOST_LEVELS = 5

/** True for a test of one column, false for a group. */
export function isTest(predicate: Predicate): predicate is ColumnTest {
  return predicate.op !== 'and' && predicate.op !== 'or' && predicate.op !== 'not'
}

/** Returns a predicate as a group of conditions. */
export function groupOf(predicate: Predicate | undefined): ConditionGroup {
  if (predicate === undefined) return { combine: 'all', parts: [], isList: false }
  switch (predicate.op) {
    case 'and':
      return { combine: 'all', parts: predicate.predicates, isList: true }
    case 'or':
      return { combine: 'any', parts: predicate.predicates, isList: true }
    case 'not': {
      const inner = groupOf(predicate.predicate)
      if (isNegated(inner)) return { combine: 'not-all', parts: [predicate.predicate], isList: false }
      return { ...inner, combine: inner.combine === 'all' ? 'not-all' : 'none' }
    }
    default:
      return { combine: 'all', parts: [predicate], isList: false }
  }
}

/** Returns the predicate of a group, or undefined if the group has no part. */
export function predicateOf(group: ConditionGroup): Predicate | undefined {
  const { combine, parts, isList } = group
  const [first] = parts
  if (first === undefined) return undefined
  const op = combine === 'all' || combine === 'not-all' ? 'and' : 'or'
  const listed: Predicate = parts.length > 1 || isList ? { op, predicates: [...parts] } : first
  return isNegated(group) ? { op: 'not', predicate: listed } : listed
}

/** True if a group holds when not all, or none, of its parts do. */
export function isNegated({ combine }: Pick<ConditionGroup, 'combine'>): boolean {
  return combine === 'not-all' || combine === 'none'
}
