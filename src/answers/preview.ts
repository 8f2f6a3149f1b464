import { setImmediate } from 'node:timers/promises'
import type { Dataset } from '../core/dataset/dataset.ts'
import { type BatchPlan, batchReport, planQueries, priceReport } from '../core/planner/batch.ts'
import { coverageReport } from '../core/planner/coverage.ts'
import { plan } from '../core/planner/plan.ts'
import { type Plan, planKindOf } from '../core/planner/plans/plan-kinds.ts'
import { priceOf } from '../core/planner/price/price.ts'
import { accuracyReport, noiseReport } from '../core/planner/report.ts'
import { planSession, priceOfSession, type SessionRequest, sessionReport } from '../core/planner/session.ts'
import type { AnalystSpending, Budget } from '../ledger/contract/budgets.ts'
import { lossOfAmount } from '../privacy/accounting.ts'
import { defined } from '../privacy/defined.ts'
import { addLoss, coversLoss, lossOfReplacement, NO_LOSS, type PrivacyLoss } from '../privacy/loss.ts'
import { type Limits, type Query, requireAllAccepted } from './asked.ts'
import { describePrice } from './documents/costs.ts'
import { describeReleaseRisk } from './documents/disclosure.ts'
import { requireAccepted } from './release.ts'

/** Balances that a preview compares its price with. */
export interface PreviewBalances {
  readonly budget: Budget
  readonly analyst: AnalystSpending
}

/** The informed adversary of a preview. */
export interface AssumedAdversary {
  /** Number of rows that the adversary chooses among. */
  readonly candidates?: number | undefined
}

/**
 * Previews a question: its cost, its accuracy and its disclosure risk. It charges nothing and reads no data.
 * @throws Refusal if the question does not fit the dataset or its database, as {@link answer} does.
 */
export function preview(
  question: { readonly dataset: Dataset; readonly query: Query },
  { engine, limits }: Limits,
  { budget, analyst }: PreviewBalances,
  adversary: AssumedAdversary = {},
) {
  const { dataset, query } = question
  const planned = plan(query, dataset, limits)
  requireAccepted(planned, engine)
  const described = describePlan(planned)
  const { loss } = planned
  const { accuracy } = described
  const release = { loss, replacementLoss: planKindOf(planned).replacementLoss(planned), accuracy }
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    ...described,
    ...describePrice(priceOf(planned, dataset.accounting), budget, analyst),
    disclosureRisk: describeReleaseRisk({ dataset, granted: budget.granted, ...adversary }, release),
  }
}

/**
 * Previews a batch as {@link preview} does a question. Between two queries it yields to other work of the process.
 * @throws Refusal if a question does not fit the dataset or its database.
 */
export async function previewBatch(
  batch: { readonly dataset: Dataset; readonly queries: readonly Query[] },
  { engine, limits }: Limits,
  { budget, analyst }: PreviewBalances,
  adversary: AssumedAdversary = {},
) {
  const { dataset } = batch
  const planned = await planQueries(batch.queries, batch.dataset, limits)
  requireAllAccepted(planned, engine)
  const { granted } = budget
  const loss = lossOfAmount(planned.price, granted.deltaAtto)
  const release = { loss, replacementLoss: replacementLossOfBatch(planned, loss, dataset) }
  const answers: (ReturnType<typeof describePlan> & ReturnType<typeof priceReport>)[] = []
  for (const each of planned.plans) {
    await setImmediate()
    answers.push({ ...describePlan(each), ...priceReport(each) })
  }
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    answers,
    ...batchReport(planned),
    ...describePrice(planned.price, budget, analyst),
    disclosureRisk: describeReleaseRisk({ dataset, granted, ...adversary }, release),
  }
}

/** The smaller of two bounds: the loss of the batch as a whole, and the sum of the losses of its queries. */
function replacementLossOfBatch(
  { plans }: BatchPlan,
  loss: PrivacyLoss,
  { neighbours }: Dataset,
): PrivacyLoss {
  const together = lossOfReplacement(loss, neighbours)
  const oneByOne = plans.map((each) => planKindOf(each).replacementLoss(each)).reduce(addLoss, NO_LOSS)
  return coversLoss(together, oneByOne) ? oneByOne : together
}

function describePlan(planned: Plan) {
  return defined({
    kind: planned.query.kind,
    noise: noiseReport(planned),
    accuracy: accuracyReport(planned),
    contribution: planned.contribution,
    coverage: coverageReport(planned),
  })
}

/**
 * Describes what a session would cost, how accurate its answers would be and what an adversary could guess from them.
 * Nothing is charged or read.
 * @throws Refusal if the request is invalid.
 */
export function previewSession(
  request: SessionRequest,
  dataset: Dataset,
  { budget, analyst }: PreviewBalances,
  adversary: AssumedAdversary = {},
) {
  const planned = planSession(request, dataset)
  const { granted } = budget
  const { loss } = planned.measurement
  const release = { loss, replacementLoss: lossOfReplacement(loss, dataset.neighbours) }
  return {
    ...sessionReport(planned),
    ...describePrice(priceOfSession(planned), budget, analyst),
    disclosureRisk: describeReleaseRisk({ dataset, granted, ...adversary }, release),
  }
}
