import { expectTypeOf, test } from 'vitest'
import type { z } from 'zod'
import type { accuracy, answer, batchAnswer, cellLabel, noise, result } from '../schemas/answer.ts'
import type { amount } from '../schemas/budget.ts'
import type { dataset, registration } from '../schemas/dataset.ts'
import type { batchEvaluation, evaluation } from '../schemas/evaluation.ts'
import type { Query } from '../schemas/query.ts'
import type { riskRequest } from '../schemas/risk.ts'
import type { DatasetDeclaration } from '../src/catalog/declaration.ts'
import type { EvaluatedBatch, EvaluatedQuery } from '../src/evaluation/report.ts'
import type { CellLabel } from '../src/planner/grouping.ts'
import type { AccuracyReport, NoiseReport, Result } from '../src/planner/report-kinds.ts'
import type { amountNumbers } from '../src/privacy/accounting.ts'
import type { RiskQuestion } from '../src/risk/question.ts'

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

test('results, noise and accuracy have the types of their schemas', () => {
  expectTypeOf<Plain<CellLabel>>().toEqualTypeOf<Wire<typeof cellLabel>>()
  expectTypeOf<Plain<Result>>().toEqualTypeOf<Wire<typeof result>>()
  expectTypeOf<Plain<NoiseReport>>().toEqualTypeOf<Wire<typeof noise>>()
  expectTypeOf<Plain<AccuracyReport>>().toEqualTypeOf<Wire<typeof accuracy>>()
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

test('evaluations have the types of their schemas', () => {
  expectTypeOf<Plain<EvaluatedQuery>>().toEqualTypeOf<Wire<typeof evaluation>>()
  expectTypeOf<Plain<EvaluatedBatch>>().toEqualTypeOf<Wire<typeof batchEvaluation>>()
})

test('a declaration has the type of the public facts of a dataset, and a registration is one with a budget', () => {
  type StateFacts = 'version' | 'reachable' | 'rows' | 'people' | 'registeredAt' | 'suspended'
  type PublicFacts = Omit<Wire<typeof dataset>, StateFacts>
  expectTypeOf<Plain<DatasetDeclaration>>().toEqualTypeOf<Plain<PublicFacts>>()
  type Declared = Omit<Wire<typeof registration>, 'budget' | 'separateBudget'>
  expectTypeOf<keyof Declared>().toEqualTypeOf<keyof DatasetDeclaration>()
})

test('a risk question has the type of its part of the request', () => {
  type Question = Pick<Wire<typeof riskRequest>, 'query' | 'released' | 'prior'>
  expectTypeOf<Plain<Pick<RiskQuestion, 'query' | 'released' | 'prior'>>>().toEqualTypeOf<Plain<Question>>()
})
