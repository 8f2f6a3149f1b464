import fc from 'fast-check'
import type { QueryPredicate } from '../../../../schemas/answers/query.ts'
import type * as asItIs from '../../../../src/core/planner/identity/normal-predicate.ts'
import type { Predicate } from '../../../../src/core/planner/language/aggregate.ts'
import { planPredicate } from '../../../../src/core/planner/language/predicate.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { aggregateRows } from '../../../engines/reference-engine.ts'
import { countOf, SMALL_ROWS, small } from './predicate-pairs.ts'
import { drawFrom, predicates, respelled } from './spellings.ts'

/** A version of the normal form of predicates. */
export type Normal = Pick<typeof asItIs, 'normalPredicate'>

const differences = (one: Predicate, other: Predicate): bigint =>
  [countOf(one, { kind: 'not', predicate: other }), countOf(other, { kind: 'not', predicate: one })]
    .map((aggregate) => aggregateRows(aggregate, SMALL_ROWS)[0]?.[0] ?? 0n)
    .reduce((sum, count) => sum + count, 0n)

/** True if two predicates of queries select the same of all possible rows. */
export function selectSameRows(one: QueryPredicate, other: QueryPredicate): boolean {
  return differences(planPredicate(one, small, 'where'), planPredicate(other, small, 'where')) === 0n
}

/** True for a predicate that fits `small`. */
export function fits(where: QueryPredicate): boolean {
  try {
    planPredicate(where, small, 'where')
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

const seed = fc.array(fc.nat(255), { minLength: 5, maxLength: 24 })

/** A predicate that fits `small`, and the same in another spelling. */
export const spellings = fc
  .tuple(predicates.filter(fits), seed)
  .map(([where, bytes]) => ({ where, spelled: respelled(where, drawFrom(bytes)) }))

/** The flaws of a version: of the normal form of a predicate, and of those of its spellings. */
export function flawsOf(
  { normalPredicate }: Normal,
  where: QueryPredicate,
  spelled: QueryPredicate,
): readonly string[] {
  const { predicate, every } = normalPredicate(where, small)
  const again = normalPredicate(predicate, small)
  const other = normalPredicate(spelled, small)
  const always = differences(planPredicate(where, small, 'where'), { kind: 'and', predicates: [] }) === 0n
  return [
    ...(selectSameRows(where, predicate) ? [] : ['other rows']),
    ...(JSON.stringify(again.predicate) === JSON.stringify(predicate) ? [] : ['not its own normal form']),
    ...(JSON.stringify(other.predicate) === JSON.stringify(predicate) ? [] : ['another identity']),
    ...(every && !always ? ['not every row'] : []),
  ]
}

/** The flaws of a version that some predicates show. */
export function flawsFound(version: Normal): ReadonlySet<string> {
  const samples = fc.sample(spellings, { numRuns: 600, seed: 20_240_229 })
  return new Set(samples.flatMap(({ where, spelled }) => flawsOf(version, where, spelled)))
}
