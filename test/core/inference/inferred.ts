import { query as querySchema } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import {
  type Inferred,
  infer,
  type NotInferred,
  type PaidRelease,
} from '../../../src/core/inference/infer.ts'
import type { AdditivePlan } from '../../../src/core/planner/additive/shape.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import { haarNodes } from '../../../src/core/workloads/ordered.ts'
import { must } from '../../../src/privacy/must.ts'
import { aggregateRows, type StoredRow } from '../../engines/reference-engine.ts'
import { LIMITS, planFor } from '../planner/planned.ts'

/** Plans a question in its wire form, at an epsilon of 1 unless it gives a price. */
export function planned(wire: object, dataset: Dataset): AdditivePlan {
  const price = 'accuracy' in wire ? {} : { epsilon: 1 }
  return planFor('additive', plan(querySchema.parse({ ...price, ...wire }), dataset, LIMITS))
}

/** Releases sums and counts without noise, so that every estimate must be exact. */
export function exactRelease(
  wire: object,
  dataset: Dataset,
  rows: readonly StoredRow[],
  id: string,
): PaidRelease & { readonly plan: AdditivePlan } {
  const release = planned(wire, dataset)
  const integers = aggregateRows(release.aggregate, rows).map((cells, statistic) =>
    cells.map((value) => value << BigInt(release.measurements[statistic]?.fractionBits ?? 0)),
  )
  return { id, plan: release, integers }
}

/** Releases the nodes of cumulative counts without noise. */
export function exactNodes(
  wire: object,
  dataset: Dataset,
  rows: readonly StoredRow[],
  id: string,
): PaidRelease {
  const query = querySchema.parse({ kind: 'cumulativeCounts', epsilon: 1, ...wire })
  const release = planFor('cumulative', plan(query, dataset, LIMITS))
  const counts = must(aggregateRows(release.aggregate, rows)[0], 'counts')
  const integers = haarNodes(counts).map((nodes, level) =>
    nodes.map((node) => node << BigInt(release.measurements[level]?.fractionBits ?? 0)),
  )
  return { id, plan: release, integers }
}

/** Requires that a question follows from releases. */
export function inferred(target: AdditivePlan, paid: readonly PaidRelease[]): Inferred {
  const found = infer(target, paid)
  if ('kind' in found) throw new Error(`not inferred: ${JSON.stringify(found)}`)
  return found
}

export function isInferred(found: Inferred | NotInferred): found is Inferred {
  return !('kind' in found)
}
