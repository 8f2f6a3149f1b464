import { setImmediate } from 'node:timers/promises'
import type { Query } from '../../../schemas/answers/query.ts'
import {
  type Accounting,
  type Amount,
  addAmounts,
  amountNumbers,
  noAmount,
  subtractAmounts,
} from '../../privacy/accounting.ts'
import { deltaAtto, epsilonNano, ONE_DELTA_ATTO, rhoPico } from '../../privacy/loss.ts'
import { entry } from '../../privacy/must.ts'
import { awaitedWithinField, refuseQuery } from '../../privacy/refusal.ts'
import { type Dataset, isLive } from '../dataset/dataset.ts'
import { disjointness } from './identity/disjoint.ts'
import { plan } from './plan.ts'
import { LARGEST_ANSWER, type PlanLimits } from './plans/plan-kind.ts'
import { type Plan, planKindOf } from './plans/plan-kinds.ts'
import { priceOf } from './price/price.ts'
import { disjointQueriesMoved } from './price/stability.ts'

/** Plan of several queries that are charged at once. */
export interface BatchPlan {
  readonly plans: readonly Plan[]
  /** Places of the plans in each group. Every plan is in one group, and no row counts in two plans of a group. */
  readonly groups: readonly (readonly number[])[]
  /** Price of all together. */
  readonly price: Amount
  /** Sum of the prices one by one; never less. */
  readonly sumOfPrices: Amount
}

/**
 * Prices queries that are answered together, none depending on another's answer, each with its own noise. Between
 * neighbours at most {@link disjointQueriesMoved} queries of a group have different distributions, so a group costs as
 * much as that many of its most expensive queries, and the groups' prices add up. Parallel composition: McSherry 2009,
 * "Privacy Integrated Queries", theorem 4; for replaced units, for people with several rows and for rho:
 * src/core/planner/identity/parallel-composition.md. This needs one set of rows for all queries, which live tables do not have: there,
 * all prices add up.
 *
 * @param plans all of one dataset
 * @throws RangeError if they are not.
 */
export function planBatch(plans: readonly Plan[], accounting: Accounting): BatchPlan {
  const prices = plans.map((plan) => priceOf(plan, accounting))
  const sumOfPrices = total(prices, accounting)
  const dataset = plans[0]?.dataset
  if (dataset === undefined) return { plans, groups: [], price: sumOfPrices, sumOfPrices }
  if (plans.some((plan) => plan.dataset.id !== dataset.id || plan.dataset.version !== dataset.version))
    throw new RangeError('the plans of a batch must all use one dataset')
  // Each query of a live table reads the rows of another moment. A row that changed in between may count in several.
  if (isLive(dataset))
    return { plans, groups: plans.map((_, place) => [place]), price: sumOfPrices, sumOfPrices }
  const predicates = plans.map((plan) => planKindOf(plan).rowsThatCount(plan))
  const ofUnits = disjointness(predicates, dataset, 'units')
  const priceOfGroup = (group: readonly number[]): Amount => {
    const separate = group.every((one) => group.every((other) => one === other || ofUnits(one, other)))
    const moved = disjointQueriesMoved(separate ? 'units' : 'rows', dataset)
    return sumOfLargest(
      group.map((place) => entry(prices, place)),
      moved,
      accounting,
    )
  }
  // Predicates separate rows. Where a person has several, fewer predicates separate people, and those save more.
  const ofRows = dataset.privacyUnit.kind === 'row' ? [] : [disjointness(predicates, dataset, 'rows')]
  const candidates = [ofUnits, ...ofRows].flatMap((disjoint) =>
    ordersOf(prices, disjoint).map((order) => {
      const groups = groupInOrder(order, disjoint, priceOfGroup)
      return { groups, price: total(groups.map(priceOfGroup), accounting) }
    }),
  )
  const { groups, price } = candidates.reduce((best, next) =>
    compareAmounts(next.price, best.price) < 0 ? next : best,
  )
  return { plans, groups, price, sumOfPrices }
}

/**
 * Plans the queries of a batch. Together they are one answer, so they share its limits: the number of selected keys is
 * not known beforehand, and each selection of keys gets an equal part of the values.
 * @param between runs between two queries, to let others have their turn
 * @param planOne plans one query; by default at once
 * @throws Refusal naming the field below `queries` that breaks a rule.
 */
export async function planQueries(
  queries: readonly Query[],
  dataset: Dataset,
  limits: PlanLimits,
  between: () => Promise<unknown> = () => setImmediate(),
  planOne: (...of: Parameters<typeof plan>) => Promise<Plan> = async (...of) => plan(...of),
): Promise<BatchPlan> {
  const partOf = (whole: number) => Math.max(1, Math.floor(whole / queries.length))
  const [maxCharacters, maxKeys] = [partOf(LARGEST_ANSWER), partOf(limits.maxCells)]
  const plans: Plan[] = []
  for (const [place, query] of queries.entries()) {
    if (place > 0) await between()
    const planned = await awaitedWithinField(`queries.${place}`, async () => {
      if ('use' in query && (query.use ?? 'fresh') !== 'fresh')
        throw refuseQuery('use', 'must be "fresh" in a batch, whose answers all have noise of their own')
      const found = await planOne(query, dataset, { ...limits, maxKeys, maxCharacters })
      priceOf(found, dataset.accounting)
      return found
    })
    plans.push(planned)
  }
  const values = plans.reduce((sum, each) => sum + planKindOf(each).mostValues(each), 0)
  if (values > limits.maxCells) {
    const rule = `must have at most ${limits.maxCells} values in all answers together; these have ${values}`
    throw refuseQuery('queries', rule)
  }
  return planBatch(plans, dataset.accounting)
}

/** The price of one query of a batch, asked by itself. */
export function priceReport(planned: Plan) {
  return { price: amountNumbers(priceOf(planned, planned.dataset.accounting)) }
}

/** The queries that share a price, and the price of all queries asked one by one. */
export function batchReport({ groups, sumOfPrices }: BatchPlan) {
  return { disjoint: groups.filter(({ length }) => length > 1), sumOfPrices: amountNumbers(sumOfPrices) }
}

type AreDisjoint = (one: number, other: number) => boolean

/**
 * Orders in which to form groups: the most expensive first, so that joining queries add least, then in the order of the
 * request, or those with the fewest disjoint partners first. No order is best for every batch, and the best grouping is
 * as hard to find as a colouring of a graph.
 */
function ordersOf(prices: readonly Amount[], disjoint: AreDisjoint): readonly (readonly number[])[] {
  const places = [...prices.keys()]
  const partners = places.map((place) => places.filter((other) => disjoint(place, other)).length)
  const dearestFirst = (a: number, b: number) => compareAmounts(entry(prices, b), entry(prices, a))
  return [
    places.toSorted(dearestFirst),
    places.toSorted((a, b) => dearestFirst(a, b) || entry(partners, a) - entry(partners, b)),
  ]
}

/** Puts each query into the group whose price it raises least, or into a new one where that raises the price less. */
function groupInOrder(
  order: readonly number[],
  disjoint: AreDisjoint,
  priceOfGroup: (group: readonly number[]) => Amount,
): readonly (readonly number[])[] {
  const groups: number[][] = []
  for (const place of order) {
    const open = groups
      .filter((group) => group.every((other) => disjoint(place, other)))
      .map((group) => ({
        group,
        rise: subtractAmounts(priceOfGroup([...group, place]), priceOfGroup(group)),
      }))
    const [first, ...others] = open
    const best =
      first &&
      others.reduce((least, next) => (compareAmounts(next.rise, least.rise) < 0 ? next : least), first)
    if (best === undefined || compareAmounts(priceOfGroup([place]), best.rise) < 0) groups.push([place])
    else best.group.push(place)
  }
  return groups.map((group) => group.toSorted((a, b) => a - b)).sort((a, b) => entry(a, 0) - entry(b, 0))
}

function total(amounts: readonly Amount[], accounting: Accounting): Amount {
  return amounts.reduce(addAmounts, noAmount(accounting))
}

/** Sum of the `count` largest, for each unit separately: the largest epsilon need not come with the largest delta. */
function sumOfLargest(amounts: readonly Amount[], count: number, accounting: Accounting): Amount {
  const sumAt = (unit: number): bigint =>
    amounts
      .map((amount) => entry(unitsOf(amount), unit))
      .sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
      .slice(0, count)
      .reduce((sum, units) => sum + units, 0n)
  switch (accounting) {
    case 'basic': {
      const delta = sumAt(1)
      return {
        accounting,
        epsilonNano: epsilonNano(sumAt(0)),
        deltaAtto: deltaAtto(delta > ONE_DELTA_ATTO ? ONE_DELTA_ATTO : delta),
      }
    }
    case 'zcdp':
      return { accounting, rhoPico: rhoPico(sumAt(0)) }
  }
}

/** Compares by epsilon, then by delta; or by rho. */
function compareAmounts(a: Amount, b: Amount): number {
  const others = unitsOf(b)
  for (const [unit, units] of unitsOf(a).entries()) {
    const other = entry(others, unit)
    if (units !== other) return units < other ? -1 : 1
  }
  return 0
}

function unitsOf(amount: Amount): readonly bigint[] {
  switch (amount.accounting) {
    case 'basic':
      return [amount.epsilonNano, amount.deltaAtto]
    case 'zcdp':
      return [amount.rhoPico]
  }
}
