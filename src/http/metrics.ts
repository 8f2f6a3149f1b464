import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { isPopulationAccount } from '../ledger/contract/budgets.ts'
import type { Chain, LedgerHead } from '../ledger/contract/chain.ts'
import { LedgerFault } from '../ledger/fault.ts'
import type { LedgerObserver } from '../ledger/observed.ts'
import type { FreeSpace } from '../platform/files/free-space.ts'
import { amountNumbers, subtractAmounts } from '../privacy/accounting.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes whose duration depends on data. */
    readonly answersFromData?: true
  }
}

/** A finished request, as far as metrics and the log need it. */
interface FinishedRequest {
  readonly method: string
  readonly routeOptions: {
    readonly url?: string | undefined
    readonly config: { readonly answersFromData?: true }
  }
}

/** Metrics of the process. */
export interface Metrics {
  /** Counts a finished request. */
  observe(
    request: FinishedRequest,
    reply: { readonly statusCode: number; readonly elapsedTime: number },
  ): void
  /** Counts the wait of a request for its turn and its place. */
  waited(waitedMs: number): void
  /** Counts charges and failures, and times commits. */
  readonly ledgerObserver: LedgerObserver
  /** Adds gauges of the service's state, which is read with the metrics. */
  watch(state: WatchedState): void
  /** Returns all metrics in the Prometheus text format. */
  text(): Promise<{ readonly contentType: string; readonly text: string }>
}

/** Parts of the service whose state the metrics show. */
export interface WatchedState {
  readonly catalog: { list(): readonly { readonly dataset: { readonly id: string } }[] }
  readonly ledger: Pick<Chain, 'head' | 'heads'>
  readonly admission: { counts(): { readonly running: number; readonly waiting: number } }
  readonly disk: FreeSpace
  readonly connections: { list(): readonly { readonly name: string; readonly reachable: boolean }[] }
  /** The readiness check of `/readyz`. */
  readonly ready: () => Promise<boolean>
}

/** Buckets for the durations of answers, in seconds. They are coarse, because exact durations depend on data. */
const COARSE_BOUNDS = [0.25, 1, 5, 30]

/** Help of each metric by its name. docs/reference/metrics.md lists them. */
export const METRICS = {
  sotto_http_request_duration_seconds:
    'Time from the arrival of a request to the end of its response, except for answers from data.',
  sotto_answer_duration_seconds:
    'The same time for answers from data, rounded up to the bound of its bucket, also in the sum.',
  sotto_queue_wait_seconds: 'Time for which requests waited for a place, rounded up to a bound.',
  sotto_charges_total:
    'Decisions about charges by dataset: charged, shared, answered (replayed), denied, in-flight and others.',
  sotto_failures_total: 'Failures after a charge, by dataset and by whether they count towards a suspension.',
  sotto_ledger_commit_seconds:
    'Time until a change of the ledger was durable, with the wait for the batch before it.',
  sotto_ready: '1 if /readyz reports that the service is ready.',
  sotto_queue_requests:
    'Requests that are being computed (running), or that wait for a turn or a place (waiting).',
  sotto_connection_reachable: '1 if the last check could reach the database of a connection.',
  sotto_disk_free_bytes: 'Free space on the fullest volume that the service writes to.',
  sotto_disk_required_bytes: 'Free space below which the service reports that it is not ready.',
  sotto_budget_cap:
    'Cap of the budget of a dataset or of a population (`@population:` and its id), in epsilon and delta, or in rho under zcdp accounting.',
  sotto_budget_remaining: 'Part of the cap that is left, in the same units.',
  sotto_dataset_suspended: '1 while failures suspend the dataset.',
} as const

/** The name and the help of a metric, and the registry that it belongs to. */
function metricOf(registry: Registry, name: keyof typeof METRICS) {
  return { name, help: METRICS[name], registers: [registry] }
}

/** Rounds a duration in seconds up to a bound. */
function coarse(seconds: number): number {
  return COARSE_BOUNDS.find((bound) => seconds <= bound) ?? 60
}

/**
 * Creates the metrics of the process, of requests by route, and of public facts by dataset. Labels contain nothing else
 * from requests, and nothing from data.
 */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const labelNames = ['method', 'route', 'status'] as const
  const durations = new Histogram({
    ...metricOf(registry, 'sotto_http_request_duration_seconds'),
    labelNames,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  })
  const answerDurations = new Histogram({
    ...metricOf(registry, 'sotto_answer_duration_seconds'),
    labelNames,
    buckets: COARSE_BOUNDS,
  })
  const waits = new Histogram({
    ...metricOf(registry, 'sotto_queue_wait_seconds'),
    buckets: COARSE_BOUNDS,
  })
  const { ledgerObserver, known } = observeInto(registry)
  let refresh: (() => Promise<void>) | undefined
  return {
    waited: (waitedMs) => waits.observe(coarse(waitedMs / 1_000)),
    ledgerObserver,
    watch(state) {
      const refreshState = watchState(registry, state)
      refresh = () => {
        for (const { dataset } of state.catalog.list()) known(dataset.id)
        return refreshState()
      }
    },
    observe({ method, routeOptions: { url = 'unknown', config } }, { statusCode, elapsedTime }) {
      const labels = { method, route: url, status: statusCode }
      const seconds = elapsedTime / 1_000
      if (config.answersFromData) answerDurations.observe(labels, coarse(seconds))
      else durations.observe(labels, seconds)
    },
    async text() {
      await refresh?.()
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** Outcomes of charges that alerts depend on. */
const WATCHED_OUTCOMES = ['charged', 'answered', 'denied'] as const

/**
 * Counts charges by dataset and times commits. `known` shows the counters of a dataset from 0 on: the increase of a counter
 * that appears with the first event it counts would be 0.
 */
function observeInto(registry: Registry): {
  readonly ledgerObserver: LedgerObserver
  readonly known: (dataset: string) => void
} {
  const charges = new Counter({
    ...metricOf(registry, 'sotto_charges_total'),
    labelNames: ['dataset', 'outcome'],
  })
  const failures = new Counter({
    ...metricOf(registry, 'sotto_failures_total'),
    labelNames: ['dataset', 'counted'],
  })
  const commits = new Histogram({
    ...metricOf(registry, 'sotto_ledger_commit_seconds'),
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  })
  return {
    ledgerObserver: {
      charged: (dataset, outcome) => charges.inc({ dataset, outcome }),
      failed: (dataset, counted) => failures.inc({ dataset, counted: String(counted) }),
      committed: (durationMs) => commits.observe(durationMs / 1_000),
    },
    known(dataset) {
      for (const outcome of WATCHED_OUTCOMES) charges.inc({ dataset, outcome }, 0)
      for (const counted of ['true', 'false']) failures.inc({ dataset, counted }, 0)
    },
  }
}

/** Creates a gauge of a registry. */
function gaugeIn<Label extends string>(
  registry: Registry,
  name: keyof typeof METRICS,
  ...labelNames: readonly Label[]
): Gauge<Label> {
  return new Gauge({ ...metricOf(registry, name), labelNames })
}

/** Adds gauges of the state of the service; returns a function that reads it. */
function watchState(registry: Registry, state: WatchedState): () => Promise<void> {
  const { admission, disk, connections } = state
  const ready = gaugeIn(registry, 'sotto_ready')
  const queue = gaugeIn(registry, 'sotto_queue_requests', 'state')
  const reachable = gaugeIn(registry, 'sotto_connection_reachable', 'connection')
  const free = gaugeIn(registry, 'sotto_disk_free_bytes')
  const required = gaugeIn(registry, 'sotto_disk_required_bytes')
  required.set(disk.requiredBytes)
  const refreshBudgets = watchBudgets(registry, state)
  return async () => {
    for (const [name, number] of Object.entries(admission.counts())) queue.set({ state: name }, number)
    for (const { name, reachable: isReachable } of connections.list())
      reachable.set({ connection: name }, isReachable ? 1 : 0)
    free.set(await disk.bytes())
    ready.set((await state.ready()) ? 1 : 0)
    await refreshBudgets()
  }
}

/** Adds gauges of the budgets of datasets and populations and of suspensions; returns a function that reads them. */
function watchBudgets(
  registry: Registry,
  { catalog, ledger }: Pick<WatchedState, 'catalog' | 'ledger'>,
): () => Promise<void> {
  const cap = gaugeIn(registry, 'sotto_budget_cap', 'dataset', 'unit')
  const remaining = gaugeIn(registry, 'sotto_budget_remaining', 'dataset', 'unit')
  const suspended = gaugeIn(registry, 'sotto_dataset_suspended', 'dataset')
  return async () => {
    const heads = await readHeads(catalog, ledger)
    // Datasets that were withdrawn disappear.
    for (const gauge of [cap, remaining, suspended]) gauge.reset()
    for (const [dataset, { budget, suspended: isSuspended }] of heads) {
      if (!isPopulationAccount(dataset)) suspended.set({ dataset }, isSuspended ? 1 : 0)
      for (const [unit, amount] of Object.entries(amountNumbers(budget.cap)))
        cap.set({ dataset, unit }, amount)
      const left = amountNumbers(subtractAmounts(budget.cap, budget.spent))
      for (const [unit, amount] of Object.entries(left)) remaining.set({ dataset, unit }, amount)
    }
  }
}

/** Returns the heads of all datasets and populations; none if the ledger fails, which the other metrics must still be able to show. */
async function readHeads(
  catalog: WatchedState['catalog'],
  ledger: WatchedState['ledger'],
): Promise<ReadonlyMap<string, LedgerHead>> {
  const heads = new Map<string, LedgerHead>()
  try {
    const populations = (await ledger.heads()).map(({ dataset }) => dataset).filter(isPopulationAccount)
    for (const account of [...catalog.list().map(({ dataset }) => dataset.id), ...populations]) {
      const head = await ledger.head(account)
      if (head !== undefined) heads.set(account, head)
    }
    return heads
  } catch (error) {
    if (error instanceof LedgerFault) return new Map()
    throw error
  }
}

/** Precision of the durations of answers in the log, in milliseconds: the default slot. */
const COARSE_MS = 50

/** Returns the duration of a request as it is logged, in milliseconds. */
export function loggedDuration({ routeOptions: { config } }: FinishedRequest, elapsedMs: number): number {
  return config.answersFromData
    ? Math.ceil(elapsedMs / COARSE_MS) * COARSE_MS
    : Math.round(elapsedMs * 10) / 10
}
