import fc from 'fast-check'
import type {
  PersonValues,
  RiskQuery,
  RiskQuestion,
  ValuePredicate,
} from '../../../src/studies/risk/question.ts'

/** Few distinct values, so that many people share one, or decimals with several digits. */
const anyValue = fc.oneof(
  fc.integer({ min: -2, max: 3 }),
  fc.integer({ min: -1000, max: 1000 }).map((hundredths) => hundredths / 100),
  fc.constantFrom(0, 0, 1, 10, 1000.125),
)

const anyPredicate: fc.Arbitrary<ValuePredicate> = fc.oneof(
  fc.record({
    op: fc.constantFrom('=', '!=', '<', '<=', '>', '>=' as const),
    value: fc.integer({ min: -2, max: 3 }),
  }),
  fc
    .record({ lower: fc.integer({ min: -2, max: 1 }), upper: fc.integer({ min: 0, max: 3 }) })
    .map((bounds) => ({ op: 'between' as const, ...bounds })),
  fc
    .array(fc.integer({ min: -2, max: 3 }), { maxLength: 3 })
    .map((values) => ({ op: 'in' as const, values })),
)

/** Queries whose structure gives the sensitivities and the answers. */
export const anyStructuredQuery: fc.Arbitrary<RiskQuery> = fc.oneof(
  fc
    .constantFrom('mean', 'sum', 'median', 'minimum', 'maximum')
    .map((kind) => ({ kind }) satisfies RiskQuery),
  fc.constantFrom(0, 10, 25, 33.3, 50, 62.5, 90, 100).map((p): RiskQuery => ({ kind: 'percentile', p })),
  anyPredicate.map((satisfying): RiskQuery => ({ kind: 'count', satisfying })),
)

export const anyQuery: fc.Arbitrary<RiskQuery> = fc.oneof(
  { weight: 3, arbitrary: anyStructuredQuery },
  fc.constantFrom('variance', 'standardDeviation').map((kind): RiskQuery => ({ kind })),
)

/** Queries that support several rows of each person. */
export const anyQueryOfRows: fc.Arbitrary<RiskQuery> = fc.oneof(
  fc.constantFrom('sum', 'minimum', 'maximum').map((kind) => ({ kind }) satisfies RiskQuery),
  anyPredicate.map((satisfying): RiskQuery => ({ kind: 'count', satisfying })),
)

/** One to three rows of each person. */
export const anyRows: fc.Arbitrary<PersonValues> = fc.oneof(
  anyValue,
  fc.array(anyValue, { minLength: 1, maxLength: 3 }),
)

/** A valid question about at most that many people, with a value each. */
export function anyQuestion(largestUniverse: number, query = anyQuery): fc.Arbitrary<QuestionAbout<number>> {
  return questionAbout(anyValue, largestUniverse, query)
}

/** A question about people with such values. */
type QuestionAbout<Values extends PersonValues> = Omit<RiskQuestion, 'universe'> & {
  readonly universe: readonly Values[]
}

/** A valid question about people whose values are drawn from an arbitrary. */
export function questionAbout<Values extends PersonValues>(
  values: fc.Arbitrary<Values>,
  largestUniverse: number,
  query: fc.Arbitrary<RiskQuery>,
): fc.Arbitrary<QuestionAbout<Values>> {
  return fc
    .tuple(fc.array(values, { minLength: 2, maxLength: largestUniverse }), query, fc.nat(), fc.nat())
    .map(([universe, asked, somewhere, some]) => {
      const released = 1 + (somewhere % (universe.length - 1))
      const changed = 1 + (some % Math.min(released, universe.length - released))
      return { universe, released, query: asked, changed }
    })
}

/** The same question with a prior: some worlds impossible, some much more likely than others. */
export function withPrior(question: RiskQuestion, weights: readonly number[]): RiskQuestion {
  const worlds = worldsOf(question.universe.length, question.released)
  const parts = Array.from({ length: worlds }, (_, world) => weights[world % weights.length] ?? 0)
  const total = parts.reduce((sum, part) => sum + part, 0)
  if (total === 0) return question
  return { ...question, prior: parts.map((part) => part / total) }
}

export const anyWeights = fc.array(fc.constantFrom(0, 1, 1, 2, 3, 50), { minLength: 1, maxLength: 30 })

function worldsOf(size: number, released: number): number {
  return released === 0 || released === size
    ? 1
    : worldsOf(size - 1, released - 1) + worldsOf(size - 1, released)
}
