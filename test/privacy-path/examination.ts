import { expect } from 'vitest'
import type { Dataset } from '../../src/core/dataset/dataset.ts'
import { plan as planAsItIs } from '../../src/core/planner/plan.ts'
import type { Plan } from '../../src/core/planner/plans/plan-kinds.ts'
import type { PrivacyLoss } from '../../src/privacy/loss.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import type { StoredRow } from '../engines/reference-engine.ts'
import { type Distribution, distributionOf, type Observed, observe, spentOn } from './distributions.ts'
import { asked, type Wire } from './queries.ts'
import { type Pairs, tallPairs, tinyDataset, towerPairs, widePairs } from './tiny-datasets.ts'
import type { WrongPlan } from './wrong-plans.ts'

/** Plans a query for tiny datasets with this number of rows, or people. */
export function planner(
  wire: Wire,
  neighbours: Neighbours,
  plan: typeof planAsItIs = planAsItIs,
  datasetOf: (neighbours: Neighbours, units: number) => Dataset = tinyDataset,
): (units: number) => Plan {
  const query = asked(wire)
  const plans = new Map<number, Plan>()
  return (units) => {
    // Under add-remove the number of units is no public fact.
    const known = neighbours === 'add-remove' ? 0 : units
    const planned = plans.get(known) ?? plan(query, datasetOf(neighbours, units), { maxCells: 1000 })
    plans.set(known, planned)
    return planned
  }
}

/** The pairs of neighbours on which a query is examined. */
export function pairsFor({ kind, statistics }: Wire, neighbours: Neighbours): readonly Pairs[] {
  switch (kind) {
    case 'groupBy':
      return JSON.stringify(statistics).includes('Wealth')
        ? [...widePairs[neighbours], ...tallPairs[neighbours]]
        : widePairs[neighbours]
    case 'median':
    case 'percentile':
    case 'minimum':
    case 'maximum':
      return [...widePairs[neighbours], ...tallPairs[neighbours]]
    case 'keySelection':
      return [...widePairs[neighbours], ...towerPairs[neighbours]]
    default:
      return widePairs[neighbours]
  }
}

/** Result of examining a plan on pairs of neighbours. */
export interface Examination {
  /** Number of examined pairs that the plan distinguishes. */
  readonly pairs: number
  /** The largest part of the price that is spent on a pair. */
  readonly share: number
  /** The data observed for the first pair on which more than the price is spent. */
  readonly violation?: string
}

/** Examines every pair. */
export function examine(
  planFor: (units: number) => Plan,
  families: readonly Pairs[],
  claimOf: (plan: Plan) => PrivacyLoss = ({ loss }) => loss,
  observeFor: typeof observe = observe,
): Examination {
  const looked = new Set<string>()
  let [share, violation]: [number, string | undefined] = [0, undefined]
  for (const { units, pairs } of families) {
    const plan = planFor(units)
    const claim = claimOf(plan)
    const distributionOfDataset = remembered(plan, observeFor)
    for (const pair of pairs) {
      const [one, other] = [distributionOfDataset(pair.one), distributionOfDataset(pair.other)]
      const names = [one.name, other.name].sort().join(' | ')
      if (one.name === other.name || looked.has(names)) continue
      looked.add(names)
      const spent = spentOn(plan, one.distribution, other.distribution, claim)
      share = Math.max(share, spent.share)
      if (!spent.within) violation ??= names
    }
  }
  return { pairs: looked.size, share, ...(violation === undefined ? {} : { violation }) }
}

/** Examines plans with a mistake, the same one for each number of units. */
export function examineWrong(
  planFor: (units: number) => Plan,
  pairs: readonly Pairs[],
  mistaken: (right: Plan) => Plan,
): Examination {
  return examine((units) => mistaken(planFor(units)), pairs)
}

/** Expects that some pair shows each of the mistakes. */
export function expectViolations(
  planFor: (units: number) => Plan,
  pairs: readonly Pairs[],
  mistakes: (right: Plan) => readonly WrongPlan[],
): void {
  const names = mistakes(planFor(3)).map(({ mistake }) => mistake)
  expect(names).not.toEqual([])
  for (const [index, mistake] of names.entries()) {
    const wrong = examineWrong(planFor, pairs, (right) => mistakes(right)[index]?.plan ?? right)
    expect(wrong.violation, `${mistake} went unseen, at ${wrong.share} of the price`).toBeDefined()
  }
}

interface NamedDistribution {
  readonly name: string
  readonly distribution: Distribution
}

/** The distribution for each dataset, computed once for all datasets with the same observed data. */
function remembered(
  plan: Plan,
  observeFor: typeof observe,
): (rows: readonly StoredRow[]) => NamedDistribution {
  const byRows = new Map<readonly StoredRow[], NamedDistribution>()
  const byName = new Map<string, NamedDistribution>()
  return (rows) => {
    const known = byRows.get(rows)
    if (known !== undefined) return known
    const observed = observeFor(plan, rows)
    const name = nameOf(observed)
    const found = byName.get(name) ?? { name, distribution: distributionOf(plan, observed) }
    byRows.set(rows, found)
    byName.set(name, found)
    return found
  }
}

function nameOf(observed: Observed): string {
  switch (observed.kind) {
    case 'integers':
      return observed.integers.map((cells) => cells.join(' ')).join('; ')
    case 'indexes':
      return [...observed.rowsAt].map(([index, count]) => `${count} at ${index}`).join(', ')
    case 'groups':
      return [
        ...observed.integers.map((cells) => cells.join(' ')),
        ...observed.rowsAt
          .flat()
          .map((rowsAt) => [...rowsAt].map(([at, count]) => `${count} at ${at}`).join()),
      ].join('; ')
    case 'texts':
      return [...observed.rowsWith]
        .map(([text, count]) => `${count} of "${text}"`)
        .sort()
        .join(', ')
  }
}
