import { isQuestion, type Question } from './question.ts'

/** A condition that the form can show: some tests of columns, of which all or any must hold. */
export interface ConditionList {
  readonly combine: 'and' | 'or'
  readonly tests: readonly Question[]
}

/** Returns a predicate as a list of tests, or undefined if it is nested and only JSON can show it. */
export function conditionsOf(predicate: unknown): ConditionList | undefined {
  if (predicate === undefined) return { combine: 'and', tests: [] }
  if (!isQuestion(predicate)) return undefined
  const { op, predicates } = predicate
  if (isTest(predicate)) return { combine: 'and', tests: [predicate] }
  if ((op !== 'and' && op !== 'or') || !Array.isArray(predicates) || !predicates.every(isTest))
    return undefined
  return { combine: op, tests: predicates }
}

/** Returns the predicate of a list of tests, or undefined if the list is empty. */
export function predicateOf({ combine, tests }: ConditionList): Question | undefined {
  return tests.length > 1 ? { op: combine, predicates: tests } : tests[0]
}

function isTest(predicate: unknown): predicate is Question {
  return isQuestion(predicate) && typeof predicate.column === 'string'
}
