import { discreteLaplaceMass } from '../../../src/core/mechanisms/samplers/discrete-laplace.ts'
import * as asItIs from '../../../src/core/planner/batch.ts'
import type { Plan } from '../../../src/core/planner/plans/plan-kinds.ts'
import type { Accounting, Amount } from '../../../src/privacy/accounting.ts'
import { epsilonNumber, rhoNumber } from '../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../src/privacy/neighbours.ts'
import { numberFromRational, type Rational } from '../../../src/privacy/rational.ts'
import { observe } from '../distributions.ts'
import { planner } from '../examination.ts'
import type { Wire } from '../queries.ts'
import { widePairs } from '../tiny-datasets.ts'

export const KINDS_OF_NEIGHBOURS = ['add-remove', 'change-one'] as const

export const is = (column: string, value: unknown) => ({ column, op: '=', value })
export const not = (predicate: object) => ({ op: 'not', predicate })
export const MEN = is('Sex', 'M')
export const WOMEN = is('Sex', 'F')
const ELDERS = { column: 'Age', op: '>=', value: 2 }
const count = (epsilon: number, where?: object): Wire => ({
  kind: 'count',
  mechanism: 'geometric',
  epsilon,
  ...(where === undefined ? {} : { where }),
})

/** Batches of counts, and the share of the sum of their prices that each is charged. */
export const COUNTS: readonly {
  readonly what: string
  readonly wires: readonly Wire[]
  readonly share: Readonly<Record<Neighbours, number>>
}[] = [
  {
    what: 'two disjoint ones',
    wires: [count(1, MEN), count(0.5, WOMEN)],
    share: { 'add-remove': 2 / 3, 'change-one': 1 },
  },
  {
    what: 'three disjoint ones, the most expensive last',
    wires: [count(0.25, is('Region', 'N')), count(0.5, is('Region', 'E')), count(1, is('Region', 'S'))],
    share: { 'add-remove': 4 / 7, 'change-one': 6 / 7 },
  },
  {
    what: 'a nullable predicate, its negation, and what both leave out',
    wires: [count(1, is('Member', true)), count(1, not(is('Member', true)))],
    share: { 'add-remove': 1 / 2, 'change-one': 1 },
  },
  {
    what: 'two that overlap',
    wires: [count(1, MEN), count(0.5, ELDERS)],
    share: { 'add-remove': 1, 'change-one': 1 },
  },
  {
    what: 'two disjoint ones and one that overlaps',
    wires: [count(1, MEN), count(0.5, WOMEN), count(0.25, ELDERS)],
    share: { 'add-remove': 5 / 7, 'change-one': 1 },
  },
  {
    what: 'one that is disjoint from two that overlap',
    wires: [count(1, not(ELDERS)), count(1, ELDERS), count(1, { column: 'Age', op: '>', value: 2 })],
    share: { 'add-remove': 2 / 3, 'change-one': 1 },
  },
  {
    what: 'the same twice',
    wires: [count(1, MEN), count(1, MEN)],
    share: { 'add-remove': 1, 'change-one': 1 },
  },
]

interface Examined {
  /** The largest part of the price that is spent on a pair of neighbours. */
  readonly share: number
  readonly price: number
  readonly sumOfPrices: number
}

/** Tolerance for the roundings of doubles. */
export const ROUNDING = 1e-9

export function examine(
  wires: readonly Wire[],
  neighbours: Neighbours,
  accounting: Accounting,
  lost: (
    plans: readonly Plan[],
    one: readonly (readonly bigint[])[],
    other: readonly (readonly bigint[])[],
  ) => number,
  planBatch: typeof asItIs.planBatch = asItIs.planBatch,
): Examined {
  const planners = wires.map((wire) => planner(wire, neighbours))
  let [share, price, sumOfPrices] = [0, 0, 0]
  const known = new Map<string, number>()
  for (const { units, pairs } of widePairs[neighbours]) {
    const batch = planBatch(
      planners.map((planFor) => planFor(units)),
      accounting,
    )
    price = numberOf(batch.price)
    sumOfPrices = numberOf(batch.sumOfPrices)
    for (const pair of pairs) {
      const [one, other] = [pair.one, pair.other].map((dataset) =>
        batch.plans.map((plan) => {
          const observed = observe(plan, dataset)
          if (observed.kind !== 'integers') throw new Error('a batch of counts')
          return observed.integers.flat()
        }),
      )
      if (one === undefined || other === undefined) throw new Error('a pair has two datasets')
      const name = `${one.join(';')}|${other.join(';')}`
      const loss = known.get(name) ?? lost(batch.plans, one, other)
      known.set(name, loss)
      share = Math.max(share, loss === 0 ? 0 : loss / price)
    }
  }
  return { share, price, sumOfPrices }
}

export function numberOf(amount: Amount): number {
  return amount.accounting === 'basic' ? epsilonNumber(amount.epsilonNano) : rhoNumber(amount.rhoPico)
}

function scaleOf(plan: Plan): Rational {
  const noise = plan.kind === 'additive' ? plan.measurements[0]?.noise : undefined
  if (noise?.kind !== 'discrete-laplace') throw new Error('a count with geometric noise')
  return noise.scale
}

/**
 * The largest log-ratio, in either direction, of the probabilities of all joint answers, including answers beyond all
 * counts.
 */
export function largestLogRatio(
  plans: readonly Plan[],
  one: readonly (readonly bigint[])[],
  other: readonly (readonly bigint[])[],
): number {
  const scales = plans.map(scaleOf)
  const joint = (counts: readonly (readonly bigint[])[], answers: readonly bigint[]): number =>
    answers.reduce((mass, answer, place) => {
      const [scale, value] = [scales[place], counts[place]?.[0]]
      if (scale === undefined || value === undefined) throw new Error('each query counts once')
      return mass * discreteLaplaceMass(answer - value, scale)
    }, 1)
  let answers: readonly (readonly bigint[])[] = [[]]
  for (const _ of plans)
    answers = answers.flatMap((so) => [-1n, 0n, 1n, 2n, 3n, 4n].map((answer) => [...so, answer]))
  return Math.max(...answers.map((each) => Math.abs(Math.log(joint(one, each) / joint(other, each)))))
}

/** The largest Rényi divergence divided by its order, in either direction, of the joint distribution at some orders. */
export function largestRho(
  plans: readonly Plan[],
  one: readonly (readonly bigint[])[],
  other: readonly (readonly bigint[])[],
): number {
  const rhoAt = (order: number, from: typeof one, to: typeof one): number =>
    plans
      .map((plan, place) => {
        const scale = scaleOf(plan)
        const [here, there] = [from[place]?.[0] ?? 0n, to[place]?.[0] ?? 0n]
        // Up to a factor that is the same for both and follows from the sum of the first distribution's masses.
        const magnitude = (value: bigint) => Math.abs(Number(value)) / numberFromRational(scale)
        let [sum, whole] = [0, 0]
        for (let answer = -200n; answer <= 200n; answer += 1n) {
          const [near, far] = [magnitude(answer - here), magnitude(answer - there)]
          sum += Math.exp((order - 1) * far - order * near)
          whole += Math.exp(-near)
        }
        return Math.log(sum / whole) / (order - 1)
      })
      // The divergences of independent answers add up.
      .reduce((total, divergence) => total + divergence, 0) / order
  return Math.max(
    ...[1.001, 1.5, 2, 4, 16].flatMap((order) => [rhoAt(order, one, other), rhoAt(order, other, one)]),
  )
}
