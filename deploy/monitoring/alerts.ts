import { stringify } from 'yaml'

/** An alerting rule with its runbook. */
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
  /** What to look at and what to do, in Markdown, as docs/reference/alerts.md shows it below a heading with the name. */
  readonly runbook: string
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
    runbook:
      'Prometheus gets no metrics from any process. Check if the processes run, and if Prometheus reaches ' +
      '`/metrics` with the right key (`SOTTO_METRICS_KEY`, or `SOTTO_METRICS_PORT` without one). A process that ' +
      'stops at the start prints the reason as its last line: a variable, a ledger that is damaged or older ' +
      'than the data folder ([Backup and restore](../operations.md#backup-and-restore)), or a ledger that ' +
      'another process uses.',
  },
  {
    name: 'SottoReplicaDown',
    severity: 'warning',
    expression: 'up == 0 and on (job, instance) last_over_time(sotto_ready[1d])',
    after: '5m',
    summary: 'Prometheus gets no metrics from {{ $labels.instance }}.',
    runbook:
      'One process answers Prometheus no more, and others do. Look at its last log lines and at its exit code. ' +
      'Its unfinished charges can be repeated after the lease ([Replicas](../operations.md#replicas)). After a ' +
      'planned removal, remove the target from Prometheus.',
  },
  {
    name: 'SottoNotReady',
    severity: 'critical',
    expression: 'sotto_ready == 0',
    after: '2m',
    summary: '{{ $labels.instance }} reports that it is not ready.',
    runbook:
      '`/readyz` answers 503, and load balancers send no requests. Look at `sotto_disk_free_bytes`, then in the ' +
      "log for an error of the ledger, of the catalog's database or for the result of the verification. A " +
      'ledger that failed stays stopped until the process is restarted: repair its disk or database first. Free ' +
      'disk space has effect at once, and so does a database of the catalog that responds again.',
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
    runbook:
      'Requests are answered with a 5xx other than 503. Find the lines of the log with this route and status, ' +
      'and their request id: a 500 on a route of queries is a charge that failed ' +
      '([SottoQueryFailures](#sottoqueryfailures)). On other routes it is a fault of the service. Report it ' +
      'with the log lines, which contain no data.',
  },
  {
    name: 'SottoUnavailable',
    severity: 'warning',
    expression:
      `sum by (job) (${ofRequests(({ name, noProbes }) => `rate(${name}{${['status="503"', ...noProbes].join(',')}}[10m])`)}) / ` +
      `sum by (job) (${ofRequests(({ name, noProbes }) => `rate(${name}{${noProbes.join(',')}}[10m])`)}) > 0.05`,
    after: '10m',
    summary: '{{ $value | humanizePercentage }} of the requests are answered 503.',
    runbook:
      'More than 5% of the requests are answered 503 with `Retry-After`, before anything was charged. Usually ' +
      'the queue is full ([SottoQueueSlow](#sottoqueueslow)), the ledger cannot be reached or the OpenID ' +
      'provider cannot be reached. The `code` and the route in the log tell which.',
  },
  {
    name: 'SottoQueueSlow',
    severity: 'warning',
    expression:
      '1 - sum by (job) (rate(sotto_queue_wait_seconds_bucket{le="5"}[10m])) / ' +
      'sum by (job) (rate(sotto_queue_wait_seconds_count[10m])) > 0.1',
    after: '10m',
    summary: '{{ $value | humanizePercentage }} of the queries wait longer than 5 seconds.',
    runbook:
      'More than 10% of the queries wait longer than 5 seconds for a place. Look at the processor and memory of ' +
      'the process, then at who asks (`principal` in the log). Raise `SOTTO_QUERY_CONNECTIONS` if processors ' +
      'and memory are left, add a replica, or reduce the quota of a key. With long slots or deadlines a place ' +
      'is occupied until the answer leaves ([Queue](../operations.md#memory-queue-and-limits)).',
  },
  {
    name: 'SottoQueryFailures',
    severity: 'warning',
    expression: 'sum by (job, dataset, counted) (increase(sotto_failures_total[1h])) > 0',
    after: '0m',
    summary: 'Queries of the dataset {{ $labels.dataset }} were charged and failed.',
    runbook:
      'Queries were charged and failed. A repeat is answered under the same charge. If `counted` is `true`, the ' +
      'failure may depend on the data (a time or memory limit), and `failureLimit` of them suspend the dataset: ' +
      'compare `SOTTO_QUERY_TIMEOUT_MS` and `SOTTO_QUERY_MEMORY` with what the dataset needs before that ' +
      'happens. If it is `false`, every request met the failure: the ledger, the source of randomness or a ' +
      'database. The error class is in the log, its message is not, because messages may contain data.',
  },
  {
    name: 'SottoDatasetSuspended',
    severity: 'warning',
    expression: 'max by (job, dataset) (sotto_dataset_suspended) == 1',
    after: '0m',
    summary: 'Failures suspend the dataset {{ $labels.dataset }}.',
    runbook:
      'A dataset answers no new queries. Its custodian sees the reason and the failures with `GET ' +
      '/v1/datasets/{dataset}/suspension`, and ends it with `POST /v1/datasets/{dataset}/resume` once the cause ' +
      'is removed. With the reason `table-changed` the table in the database no longer has the columns of the ' +
      'registration.',
  },
  {
    name: 'SottoBudgetLow',
    severity: 'info',
    expression:
      'min by (job, dataset, unit) (sotto_budget_remaining) / max by (job, dataset, unit) (sotto_budget_cap) < 0.1 ' +
      'and on (job, dataset) ' +
      '(sum by (job, dataset) (increase(sotto_charges_total{outcome=~"charged|denied"}[1d])) > 0 ' +
      // Charges are counted by dataset.
      'or max by (job, dataset) (sotto_budget_cap{dataset=~"@population:.*"}) > 0)',
    after: '5m',
    summary:
      'The budget of {{ $labels.dataset }} has {{ $value | humanizePercentage }} of its {{ $labels.unit }} left.',
    runbook:
      'A dataset that is queried, or a population (`@population:` and its id), has less than ' +
      '10% of its budget left. The custodian decides between a grant ' +
      '(`POST /v1/datasets/{dataset}/grants`, `POST /v1/populations/{population}/grants`), which weakens the protection of the people in the data, ' +
      'allotments for analysts, and letting the budget end. Stored answers are replayed without cost also ' +
      'afterwards.',
  },
  {
    name: 'SottoBudgetSpentSoon',
    severity: 'info',
    expression: `(min by (job, dataset, unit) (sotto_budget_remaining) > 0) / (${SPENDING_RATE} > 0) < 7 * 86400`,
    after: '1h',
    summary:
      'At the rate of the last day, the {{ $labels.unit }} of the dataset {{ $labels.dataset }} is spent in {{ $value | humanizeDuration }}.',
    runbook:
      'At the rate of the last day the budget is spent within a week. Inform the custodian. If one analyst ' +
      'spends most of it (`GET /v1/datasets/{dataset}/analysts`), an allotment limits them.',
  },
  {
    name: 'SottoDenials',
    severity: 'info',
    expression: 'sum by (job, dataset) (increase(sotto_charges_total{outcome="denied"}[1h])) > 10',
    after: '0m',
    summary:
      '{{ $value | printf "%.0f" }} requests to the dataset {{ $labels.dataset }} were denied in an hour.',
    runbook:
      'More than ten requests in an hour were denied, because the budget or an allotment did not cover them. ' +
      'Denials cost nothing. A script that repeats a denied query should stop at the problem ' +
      '`budget-insufficient` or `allotment-insufficient`.',
  },
  {
    name: 'SottoLedgerSlow',
    severity: 'warning',
    expression:
      'histogram_quantile(0.99, sum by (job, instance, le) (rate(sotto_ledger_commit_seconds_bucket[10m]))) > 0.5',
    after: '10m',
    summary: 'Commits of the ledger of {{ $labels.instance }} take {{ $value | humanizeDuration }}.',
    runbook:
      'One of a hundred commits takes longer than half a second. Every charge and every answer waits for a ' +
      'commit, and an answer that is recorded later than its slot leaves in the next one. Look at the latency ' +
      'of the volume of a SQLite ledger, or at the network and the synchronous standbys of PostgreSQL. Both ' +
      'need a disk that confirms writes quickly.',
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
    runbook:
      'The fullest volume has less than twice `SOTTO_MIN_FREE_DISK`, or will have less than it within a day. ' +
      'Below `SOTTO_MIN_FREE_DISK` the service is not ready. Enlarge the volume, or remove uploads and versions ' +
      'of datasets that are not used (`npx sotto withdraw`). Never delete files of the data folder by hand, ' +
      'except those that the [table](../operations.md#the-data-folder) permits. A ledger grows with each charge ' +
      'and never shrinks.',
  },
  {
    name: 'SottoEventLoopBlocked',
    severity: 'warning',
    expression: 'nodejs_eventloop_lag_p99_seconds > 0.25 and on (job, instance) sotto_ready',
    after: '10m',
    summary: 'The event loop of {{ $labels.instance }} is late by {{ $value | humanizeDuration }}.',
    runbook:
      'The process responds late to everything. Look at the processor: other processes on the machine, too few ' +
      'processors for `SOTTO_QUERY_THREADS`, or very large answers. Durations and instants of releases become ' +
      'less exact, but still leave at whole slots.',
  },
  {
    name: 'SottoConnectionUnreachable',
    severity: 'warning',
    expression: 'sotto_connection_reachable == 0',
    after: '5m',
    summary: '{{ $labels.instance }} cannot reach the database of the connection {{ $labels.connection }}.',
    runbook:
      'A database of `SOTTO_CONNECTIONS` cannot be reached. New questions about its live datasets are refused ' +
      'with 503 and not charged ([outages](../connecting.md#outages)), and all others work. Check the database, ' +
      'its network and the password file.',
  },
]

/**
 * Returns the rules as Prometheus reads them.
 * @param docs address of the page with the runbooks. Default: its path in the project.
 */
export function alertRules(docs = 'docs/reference/alerts.md'): string {
  const rules = ALERTS.map(({ name, severity, expression, after, summary }) => ({
    alert: name,
    expr: expression,
    for: after,
    labels: { severity },
    annotations: { summary, runbook_url: `${docs}#${name.toLowerCase()}` },
  }))
  return `# Written by npm run monitoring. Do not edit.\n${stringify({ groups: [{ name: 'sotto', rules }] }, { lineWidth: 0 })}`
}
