import type { Dataset } from '../core/dataset/dataset.ts'
import { priceReport } from '../core/planner/batch.ts'
import { normalSession } from '../core/planner/identity/normal-form.ts'
import { type Plan, planKindOf } from '../core/planner/plans/plan-kinds.ts'
import { priceOf } from '../core/planner/price/price.ts'
import { accuracyReport, noiseReport } from '../core/planner/report.ts'
import { planSession, priceOfSession, type SessionRequest } from '../core/planner/session.ts'
import type { BatchQueries } from '../core/planner/together.ts'
import type { Chain } from '../ledger/contract/chain.ts'
import type { Releases } from '../ledger/contract/releases.ts'
import { pace } from '../platform/concurrency/pace.ts'
import { lossOfAmount, noAmount } from '../privacy/accounting.ts'
import { defined } from '../privacy/defined.ts'
import { addLoss, coversLoss, lossOfReplacement, NO_LOSS, type PrivacyLoss } from '../privacy/loss.ts'
import { canonicalBatch, canonicalQuery, type Limits, type Query, requireAllAccepted } from './asked.ts'
import { type Balances, describeOffer } from './documents/costs.ts'
import { coverageReport } from './documents/coverage.ts'
import { describeReleaseRisk } from './documents/disclosure.ts'
import { sessionReport } from './documents/session.ts'
import { findRepeat } from './identity.ts'
import { findWays } from './inference/aside.ts'
import { combinedNoise, inquiryOf } from './inference/known.ts'
import { useOf } from './inference/ways.ts'
import { planAside, planBatchAside } from './planning.ts'
import { requireAccepted } from './release.ts'
import { describePart, describePlans, previewTogether, priceOfBatch, reportOfBatch } from './together.ts'

/** Principal of a preview, and the dataset that it is about. */
interface PreviewRequest {
  readonly principal: string
  readonly dataset: Dataset
  /** Aborted once the client has disconnected. */
  readonly givenUp?: AbortSignal | undefined
}

/** Where a preview finds out what is already paid. */
export interface PaidRequests {
  readonly ledger: Pick<Chain & Releases, 'requests' | 'unansweredRequests' | 'releases'>
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
export async function preview(
  question: PreviewRequest & { readonly query: Query },
  dependencies: Limits & PaidRequests,
  balances: Balances,
  adversary: AssumedAdversary = {},
) {
  const { principal, dataset, query } = question
  const { engine, ledger } = dependencies
  const planned = await planAside(query, dataset, dependencies, question)
  requireAccepted(planned, engine)
  const described = describePlan(planned)
  const request = { principal, dataset, request: canonicalQuery(planned) }
  const repeat = await findRepeat(ledger, request, Date.now())
  const inquiry = await inquiryOf(question, planned, principal, dependencies)
  const price = priceOf(planned, dataset.accounting)
  const use = useOf(query, undefined)
  const wanted = repeat.paid && use === 'free-if-met' ? 'fresh' : use
  const ways = await findWays(inquiry, planned, wanted, dependencies, question)
  const isReplay = ways.kind === 'fresh' && repeat.paid
  const { accuracy = described.accuracy } = ways
  const fresh = { loss: planned.loss, replacementLoss: planKindOf(planned).replacementLoss(planned) }
  const release = { ...(ways.losses ?? fresh), accuracy }
  const cost = isReplay ? noAmount(dataset.accounting) : ways.price
  return {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    ...described,
    ...(ways.accuracy === undefined ? {} : { noise: combinedNoise(planned), accuracy: ways.accuracy }),
    ...describeOffer(price, repeat, balances, cost),
    offers: ways.offers,
    disclosureRisk: describeReleaseRisk({ dataset, granted: balances.budget.granted, ...adversary }, release),
  }
}

/**
 * Previews a batch as {@link preview} does a question. Between two queries it yields to other work of the process.
 * @throws Refusal if a question does not fit the dataset or its database.
 */
export async function previewBatch(...asked: Parameters<typeof pricedBatch>) {
  return (await pricedBatch(...asked)).document
}

/** The document of {@link previewBatch}, with the price and what the batch costs now. */
export async function pricedBatch(
  { principal, dataset, givenUp, ...batch }: PreviewRequest & BatchQueries,
  dependencies: Limits & PaidRequests,
  balances: Balances,
  adversary: AssumedAdversary = {},
) {
  const { engine, ledger } = dependencies
  const between = () => pace(principal)
  const waiting = { principal, givenUp }
  const planned = await planBatchAside(batch, dataset, dependencies, waiting, { between, both: true })
  requireAllAccepted(planned, engine)
  const { separate, chosen } = planned
  const price = priceOfBatch(planned)
  const { granted } = balances.budget
  const loss = lossOfAmount(price, granted.deltaAtto)
  const plans = chosen?.workloads ?? separate.plans
  const release = { loss, replacementLoss: replacementLossOfBatch(plans, loss, dataset) }
  const answers: (ReturnType<typeof describePlan> & ReturnType<typeof priceReport>)[] = []
  for (const [place, each] of separate.plans.entries()) {
    await between()
    const described = chosen === undefined ? describePlan(each) : previewTogether(chosen, place)
    answers.push({ ...described, ...priceReport(each) })
  }
  const request = { principal, dataset, request: canonicalBatch(planned) }
  const repeat = await findRepeat(ledger, request, Date.now())
  const document = {
    dataset: dataset.id,
    datasetVersion: dataset.version,
    answers,
    ...reportOfBatch(planned),
    ...defined({ together: chosen?.workloads.map(describePart) }),
    plans: describePlans(planned),
    ...describeOffer(price, repeat, balances),
    disclosureRisk: describeReleaseRisk({ dataset, granted, ...adversary }, release),
  }
  return { document, price, cost: repeat.paid ? noAmount(price.accounting) : price }
}

/** The smaller of two bounds: the loss of the batch as a whole, and the sum of the losses of its queries. */
function replacementLossOfBatch(
  plans: readonly Plan[],
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
export async function previewSession(
  opening: PreviewRequest & { readonly request: SessionRequest },
  { ledger }: PaidRequests,
  balances: Balances,
  adversary: AssumedAdversary = {},
) {
  const { principal, dataset, request } = opening
  const planned = planSession(request, dataset)
  const { granted } = balances.budget
  const { loss } = planned.measurement
  const release = { loss, replacementLoss: lossOfReplacement(loss, dataset.neighbours) }
  const identified = { principal, dataset, request: { sparseVector: normalSession(request, planned) } }
  const repeat = await findRepeat(ledger, identified, Date.now())
  return {
    ...sessionReport(planned),
    ...describeOffer(priceOfSession(planned), repeat, balances),
    disclosureRisk: describeReleaseRisk({ dataset, granted, ...adversary }, release),
  }
}
