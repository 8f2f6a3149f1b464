import { stringify } from 'yaml'

/** An alerting rule. `docs/operations.md` has a runbook for each, under a heading with its name. */
export interface Alert {
  readonly name: string
  /**
   * `critical`: the service does not answer. `warning`: it will stop answering or answers some requests only. `info`: a
   * custodian should decide about a budget.
   */
  readonly severity: 'critical' | 'warning' | 'info'
  /** PromQL expression. The alert is active while it has a result. */
  readonly expression: string
  /** Time for which the expression must have a result before the alert fires, for example `5m`. */
  readonly after: string
  /** One sentence for the notification. `{{ $labels.x }}` and `{{ $value }}` are filled in by Prometheus. */
  readonly summary: string
}

/** Requests that failed with a status of the service's own, except 503, which is expected under load. */
const SERVER_ERRORS = 'status=~"5..",status!="503"'

/** A counter of requests, and the matchers that leave out the health checks. Their 503 has an alert of its own. */
interface RequestCounter {
  readonly name: string
  readonly noProbes: readonly string[]
}

/** The counters of requests. Each route is counted by one of them. */
const REQUEST_COUNTERS: readonly RequestCounter[] = [
  {
    name: 'sotto_http_request_duration_seconds_count',
    noProbes: ['route!~"/healthz|/readyz|/metrics"'],
  },
  { name: 'sotto_answer_duration_seconds_count', noProbes: [] },
]

/** Joins an expression for each counter of requests. */
function ofRequests(expression: (counter: RequestCounter) => string): string {
  return REQUEST_COUNTERS.map(expression).join(' or ')
}

/** Slope of what is spent, per second. The inner aggregation survives the replacement of replicas. */
const SPENDING_RATE =
  'deriv((max by (job, dataset, unit) (sotto_budget_cap - sotto_budget_remaining))[1d:10m])'

/** All alerts, in the order of their runbooks. */
export const ALERTS: readonly Alert[] = [
  {
    name: 'SottoDown',
    severity: 'critical',
    expression: 'absent(sotto_ready)',
    after: '2m',
    summary: 'Prometheus gets no metrics from Sotto.',
  },
  {
    name: 'SottoReplicaDown',
    severity: 'warning',
    expression: 'up == 0 and on (job, instance) last_over_time(sotto_ready[1d])',
    after: '5m',
    summary: 'Prometheus gets no metrics from {{ $labels.instance }}.',
  },
  {
    name: 'SottoNotReady',
    severity: 'critical',
    expression: 'sotto_ready == 0',
    after: '2m',
    summary: '{{ $labels.instance }} reports that it is not ready.',
  },
  {
    name: 'SottoServerErrors',
    severity: 'warning',
    // A counter of errors appears with the first error. Its increase would be 0.
    expression: `sum by (job, route, status) (${ofRequests(
      ({ name }) =>
        `(${name}{${SERVER_ERRORS}} unless ${name}{${SERVER_ERRORS}} offset 10m) or increase(${name}{${SERVER_ERRORS}}[10m])`,
    )}) > 0`,
    after: '0m',
    summary: 'Requests to {{ $labels.route }} are answered {{ $labels.status }}.',
  },
  {
    name: 'SottoUnavailable',
    severity: 'warning',
    expression:
      `sum by (job) (${ofRequests(({ name, noProbes }) => `rate(${name}{${['status="503"', ...noProbes].join(',')}}[10m])`)}) / ` +
      `sum by (job) (${ofRequests(({ name, noProbes }) => `rate(${name}{${noProbes.join(',')}}[10m])`)}) > 0.05`,
    after: '10m',
    summary: '{{ $value | humanizePercentage }} of the requests are answered 503.',
  },
  {
    name: 'SottoQueueSlow',
    severity: 'warning',
    expression:
      '1 - sum by (job) (rate(sotto_queue_wait_seconds_bucket{le="5"}[10m])) / ' +
      'sum by (job) (rate(sotto_queue_wait_seconds_count[10m])) > 0.1',
    after: '10m',
    summary: '{{ $value | humanizePercentage }} of the queries wait longer than 5 seconds.',
  },
  {
    name: 'SottoQueryFailures',
    severity: 'warning',
    expression: 'sum by (job, dataset, counted) (increase(sotto_failures_total[1h])) > 0',
    after: '0m',
    summary: 'Queries of the dataset {{ $labels.dataset }} were charged and failed.',
  },
  {
    name: 'SottoDatasetSuspended',
    severity: 'warning',
    expression: 'max by (job, dataset) (sotto_dataset_suspended) == 1',
    after: '0m',
    summary: 'Failures suspend the dataset {{ $labels.dataset }}.',
  },
  {
    name: 'SottoBudgetLow',
    severity: 'info',
    expression:
      'min by (job, dataset, unit) (sotto_budget_remaining) / max by (job, dataset, unit) (sotto_budget_cap) < 0.1 ' +
      'and on (job, dataset) ' +
      'sum by (job, dataset) (increase(sotto_charges_total{outcome=~"charged|denied"}[1d])) > 0',
    after: '5m',
    summary:
      'The dataset {{ $labels.dataset }}, which is queried, has {{ $value | humanizePercentage }} of its {{ $labels.unit }} left.',
  },
  {
    name: 'SottoBudgetSpentSoon',
    severity: 'info',
    expression: `(min by (job, dataset, unit) (sotto_budget_remaining) > 0) / (${SPENDING_RATE} > 0) < 7 * 86400`,
    after: '1h',
    summary:
      'At the rate of the last day, the {{ $labels.unit }} of the dataset {{ $labels.dataset }} is spent in {{ $value | humanizeDuration }}.',
  },
  {
    name: 'SottoDenials',
    severity: 'info',
    expression: 'sum by (job, dataset) (increase(sotto_charges_total{outcome="denied"}[1h])) > 10',
    after: '0m',
    summary:
      '{{ $value | printf "%.0f" }} requests to the dataset {{ $labels.dataset }} were denied in an hour.',
  },
  {
    name: 'SottoLedgerSlow',
    severity: 'warning',
    expression:
      'histogram_quantile(0.99, sum by (job, instance, le) (rate(sotto_ledger_commit_seconds_bucket[10m]))) > 0.5',
    after: '10m',
    summary: 'Commits of the ledger of {{ $labels.instance }} take {{ $value | humanizeDuration }}.',
  },
  {
    name: 'SottoDiskLow',
    severity: 'warning',
    // The prediction needs three hours of history.
    expression:
      'sotto_disk_free_bytes < 2 * sotto_disk_required_bytes or ' +
      '(predict_linear(sotto_disk_free_bytes[6h], 86400) < sotto_disk_required_bytes ' +
      'and sotto_disk_free_bytes offset 3h)',
    after: '15m',
    summary: 'The disk of {{ $labels.instance }} will soon have too little free space.',
  },
  {
    name: 'SottoEventLoopBlocked',
    severity: 'warning',
    expression: 'nodejs_eventloop_lag_p99_seconds > 0.25 and on (job, instance) sotto_ready',
    after: '10m',
    summary: 'The event loop of {{ $labels.instance }} is late by {{ $value | humanizeDuration }}.',
  },
  {
    name: 'SottoConnectionUnreachable',
    severity: 'warning',
    expression: 'sotto_connection_reachable == 0',
    after: '5m',
    summary: '{{ $labels.instance }} cannot reach the database of the connection {{ $labels.connection }}.',
  },
]

/**
 * Returns the rules as Prometheus reads them.
 * @param docs address of the page with the runbooks. Default: its path in the project.
 */
export function alertRules(docs = 'docs/operations.md'): string {
  const rules = ALERTS.map(({ name, severity, expression, after, summary }) => ({
    alert: name,
    expr: expression,
    for: after,
    labels: { severity },
    annotations: { summary, runbook_url: `${docs}#${name.toLowerCase()}` },
  }))
  return `# Written by npm run monitoring. Do not edit.\n${stringify({ groups: [{ name: 'sotto', rules }] }, { lineWidth: 0 })}`
}
