import seedrandom from 'seedrandom'
import { expect, test } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import type { PaidRelease } from '../../../src/core/inference/infer.ts'
import { planTopUp } from '../../../src/core/inference/top-up.ts'
import { must } from '../../../src/privacy/must.ts'
import type { StoredRow } from '../../engines/reference-engine.ts'
import { people } from '../planner/neighbours/people.ts'
import { LIMITS } from '../planner/planned.ts'
import { noisyIntegers } from '../planner/releases.ts'
import { exactRelease, inferred, planned } from './inferred.ts'

/*
 * Stated half-widths of inferred answers hold with the stated confidence, and those of sums and counts hardly more often. Noise
 * comes from a seeded source, so that every run counts the same.
 */

const DRAWS = 1_000
/** A probability of failure of 0.05 leads to more failures than this less than once in 1e8 runs. */
const MOST_FAILURES = 95
/** And to fewer than this. */
const FEWEST_FAILURES = 16

const underBasic = people('add-remove')
const underZcdp: Dataset = { ...underBasic, accounting: 'zcdp' }
const crowd = Array.from(
  { length: 500 },
  (_, place): StoredRow => ({
    Age: BigInt((place * 37) % 121),
    Balance: 0n,
    Income: null,
    Sex: place % 3 === 0 ? 0 : 1,
    Region: null,
    Member: null,
    Note: null,
  }),
)

const count = { kind: 'count', epsilon: 0.1 }
const of = (value: string) => ({ ...count, where: { column: 'Sex', op: '=', value } })
const bins = { ...count, kind: 'groupBy', keys: [{ column: 'Age', edges: [0, 20, 40, 60, 80, 120] }] }
const parts = { ...bins, statistics: [{ kind: 'count' }] }
const gaussian = { ...count, mechanism: 'gaussian', delta: 1e-6 }
const sum = { kind: 'sum', column: 'Age', epsilon: 0.1 }

interface Offer {
  readonly name: string
  readonly target: object
  readonly paid: readonly object[]
  readonly dataset?: Dataset
  readonly topUp?: true
}

const OFFERS: readonly Offer[] = [
  { name: 'a total of paid parts', target: count, paid: [parts] },
  { name: 'a total of paid parts and an earlier total', target: count, paid: [parts, count] },
  { name: 'a part from the total and its sibling', target: of('M'), paid: [count, of('F')] },
  { name: 'Laplace and Gaussian noise', target: count, paid: [parts, gaussian], dataset: underZcdp },
  { name: 'a mean by the union bound', target: { ...sum, kind: 'mean' }, paid: [sum, count, parts] },
  { name: 'a top-up', target: { ...count, epsilon: 0.2 }, paid: [count], topUp: true },
  {
    name: 'a top-up of Laplace by Gaussian noise',
    target: { ...gaussian, epsilon: 1 },
    paid: [count, parts],
    dataset: underZcdp,
    topUp: true,
  },
]

/** How many of the draws lie outside the stated half-width. */
function failuresOf({ name, target, paid, dataset = underBasic, topUp }: Offer): number {
  const question = planned(target, dataset)
  const exact = paid.map((each, place) => exactRelease(each, dataset, crowd, String(place)))
  const plans = exact.map(({ plan }) => plan)
  if (topUp) {
    const lacking = planTopUp(question, inferred(question, exact), exact, LIMITS)
    plans.push(must(lacking, 'a measurement'))
  }
  const random = seedrandom(name)
  const draws = plans.map((plan) => noisyIntegers(plan, crowd, random))
  const reported = (releases: readonly PaidRelease[]) => {
    const { result, accuracy } = inferred(question, releases).report
    if (!('value' in result) || accuracy.halfWidth === null) throw new Error('one number is asked for')
    return { value: Number(result.value), halfWidth: accuracy.halfWidth }
  }
  const truth = reported(exact).value
  let failures = 0
  for (let drawn = 0; drawn < DRAWS; drawn += 1) {
    const releases = plans.map((plan, place) => ({
      id: String(place),
      plan,
      integers: must(draws[place], 'a source')(),
    }))
    const { value, halfWidth } = reported(releases)
    if (Math.abs(value - truth) > halfWidth * (1 + 1e-9)) failures += 1
  }
  return failures
}

test.each(OFFERS)('$name lies within its half-width as often as stated', (offer) => {
  const failures = failuresOf(offer)
  expect(failures).toBeLessThanOrEqual(MOST_FAILURES)
  // The union bound of a mean is wider.
  if (!offer.name.startsWith('a mean')) expect(failures).toBeGreaterThanOrEqual(FEWEST_FAILURES)
})
