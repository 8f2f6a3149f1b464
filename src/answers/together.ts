import { postprocessAccuracy } from '../core/planner/additive/postprocess.ts'
import { batchReport } from '../core/planner/batch.ts'
import { type MarginalsPlan, noiseOfMarginals } from '../core/planner/plans/marginals.ts'
import { domainOf, postprocessingOf } from '../core/planner/report.ts'
import type { Report } from '../core/planner/report-kinds.ts'
import {
  accuracyTogether,
  priceTogether,
  reportTogether,
  summedIn,
  type TogetherPlan,
} from '../core/planner/together.ts'
import { decodedIntegers } from '../core/workloads/encoding.ts'
import { type Amount, amountNumbers } from '../privacy/accounting.ts'
import { defined } from '../privacy/defined.ts'
import { entry, must } from '../privacy/must.ts'
import { coverageReport } from './documents/coverage.ts'
import { queryShown } from './documents/postprocessing.ts'
import { combinedNoise } from './inference/known.ts'
import type { PlannedBatch } from './planning.ts'

/* Documents of batches whose queries are planned together. */

/** The price of a batch under its plan. */
export function priceOfBatch({ separate, chosen }: PlannedBatch): Amount {
  const { price } = separate
  return chosen === undefined ? price : priceTogether(chosen, price.accounting)
}

/** Describes the plan of a batch. Queries that are planned together have no discount as disjoint ones. */
export function reportOfBatch({ separate, chosen }: PlannedBatch) {
  const report = batchReport(separate)
  return chosen === undefined
    ? { ...report, plan: 'separate' as const }
    : { ...report, disjoint: [], plan: 'together' as const }
}

/** Describes the price of a batch under each plan, or why there is only one. */
export function describePlans({ separate, together }: PlannedBatch) {
  const { price } = separate
  const tried = must(together, 'the other plan of a preview')
  const offered =
    'refused' in tried
      ? { reason: tried.refused.message }
      : { price: amountNumbers(priceTogether(tried, price.accounting)) }
  return { separate: { price: amountNumbers(price) }, together: offered }
}

/** The answer to a query of the batch as far as it is known beforehand. */
function describeQueryTogether(plan: TogetherPlan, place: number) {
  const query = entry(plan.queries, place)
  return defined({
    kind: query.query.kind,
    noise: combinedNoise(query),
    accuracy: accuracyTogether(plan, place),
    contribution: query.contribution,
    coverage: coverageReport(query),
  })
}

/** Describes a query of the batch before the release, as {@link queryShown} shows it. */
export function previewTogether(plan: TogetherPlan, place: number) {
  const { accuracy, ...facts } = describeQueryTogether(plan, place)
  const query = entry(plan.queries, place)
  const asked = postprocessingOf(query)
  return {
    ...facts,
    accuracy: asked === undefined ? accuracy : postprocessAccuracy(accuracy, domainOf(query), asked),
  }
}

/** Describes the tables of a part: what they add up, if that is no count, and their noise. */
export function describePart(workload: MarginalsPlan) {
  return { ...defined({ sum: summedIn(workload) }), noise: noiseOfMarginals(workload) }
}

/**
 * Describes the release of the tables that queries are estimated from.
 * @param releases the release of each part as a question about its tables would show it
 * @param described describes the answers to the queries
 */
export function describeTogether(
  plan: TogetherPlan,
  releases: readonly object[],
  described: (answers: readonly object[]) => object,
): object {
  const reports = releases as readonly Report[]
  const results = reports.map(({ result }) => {
    if ('tables' in result) return result
    throw new RangeError('the release of a workload has tables')
  })
  const answers = plan.queries.map((query, place) => {
    const { kind, noise: combined, ...facts } = describeQueryTogether(plan, place)
    const { result: own, accuracy } = reportTogether(plan, place, results)
    const document = { kind, result: own, noise: combined, ...facts, accuracy, domain: domainOf(query) }
    return queryShown(document, query.query)
  })
  const together = reports.map(({ measured }, part) => ({
    ...describePart(entry(plan.workloads, part)),
    measured: must(measured, 'what was measured').map((table) => ({
      integers: [typeof table === 'string' ? decodedIntegers(table) : table].map((cells) =>
        cells.map(String),
      ),
    })),
  }))
  return { ...described(answers), together }
}
