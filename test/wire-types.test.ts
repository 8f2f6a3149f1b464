import { expectTypeOf, test } from 'vitest'
import type { z } from 'zod'
import type { answer, batchAnswer, cellLabel } from '../schemas/answers/answer.ts'
import type { Query } from '../schemas/answers/query.ts'
import type { amount } from '../schemas/budgets/budget.ts'
import type { CellLabel } from '../src/core/planner/language/grouping.ts'
import type { amountNumbers } from '../src/privacy/accounting.ts'

/*
 * Types of the source that describe documents on the wire, compared with the schemas of these documents. The compiler
 * checks them (`npm run check`): a field that only one of the two has, or that has another type, is an error.
 */

/**
 * A type without differences that JSON does not have: intersections, read-only modifiers, and undefined for a missing
 * field.
 */
type Plain<T> = T extends readonly (infer Element)[]
  ? readonly Plain<Element>[]
  : T extends object
    ? { readonly [Key in keyof T]: Plain<Exclude<T[Key], undefined>> }
    : T

type Wire<Schema extends z.ZodType> = Plain<z.output<Schema>>

test('labels of cells and amounts have the types of their schemas', () => {
  expectTypeOf<Plain<CellLabel>>().toEqualTypeOf<Wire<typeof cellLabel>>()
  expectTypeOf<Plain<ReturnType<typeof amountNumbers>>>().toEqualTypeOf<Wire<typeof amount>>()
})

test('the kind of an answer determines the type of its result, and every kind has an answer', () => {
  type Answer = z.output<typeof answer>
  type AnswerOfBatch = z.output<typeof batchAnswer>['answers'][number]
  expectTypeOf<Answer['kind']>().toEqualTypeOf<Query['kind']>()
  expectTypeOf<AnswerOfBatch['kind']>().toEqualTypeOf<Query['kind']>()
  const countOf = (each: Answer) => (each.kind === 'count' ? each.result.value : undefined)
  expectTypeOf(countOf).returns.toEqualTypeOf<number | undefined>()
})
