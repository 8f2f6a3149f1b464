/** A curve, or a value, of a panel. */
export interface Target {
  /** PromQL expression. `$job` and `$dataset` are chosen in the dashboard. */
  readonly expression: string
  /** Name of the curve, with labels such as `{{dataset}}`. */
  readonly legend: string
}

/** A panel. Four columns of a row are as wide as the dashboard. */
export interface Panel {
  readonly title: string
  readonly description: string
  readonly kind: 'timeseries' | 'stat' | 'bargauge'
  /** Unit of Grafana, for example `s` or `percentunit`. */
  readonly unit: string
  readonly columns: 1 | 2 | 3 | 4
  readonly targets: readonly Target[]
}

/** A row of panels under a title. */
export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

const JOB = 'job=~"$job"'
const DATASET = `${JOB},dataset=~"$dataset"`

/** Routes that report the state of the service. */
const PROBES = 'route!~"/healthz|/readyz|/metrics"'

const SPENT = `(max by (dataset, unit) (sotto_budget_cap{${DATASET}} - sotto_budget_remaining{${DATASET}}))`

/** A quantile of a histogram. */
function quantile(share: number, histogram: string, by: string): string {
  const labels = by === '' ? 'le' : `${by}, le`
  return `histogram_quantile(${share}, sum by (${labels}) (rate(${histogram}_bucket{${JOB}}[$__rate_interval])))`
}

/** A gauge of prom-client, of the processes of Sotto alone. */
function ofProcesses(metric: string): string {
  return `${metric}{${JOB}} and on (job, instance) sotto_ready`
}

/** The panels of the dashboard, from top to bottom. */
export const ROWS: readonly Row[] = [
  {
    title: 'Service',
    panels: [
      {
        title: 'Replicas that are ready',
        description: 'Processes whose /readyz reports ready.',
        kind: 'stat',
        unit: 'short',
        columns: 1,
        targets: [{ expression: `sum(sotto_ready{${JOB}})`, legend: 'ready' }],
      },
      {
        title: 'Suspended datasets',
        description: 'Datasets that failures suspend until their custodian resumes them.',
        kind: 'stat',
        unit: 'short',
        columns: 1,
        targets: [
          {
            expression: `count(max by (job, dataset) (sotto_dataset_suspended{${DATASET}}) == 1) or vector(0)`,
            legend: 'suspended',
          },
        ],
      },
      {
        title: 'Connections',
        description: '1 if the last check could reach the database of a connection.',
        kind: 'timeseries',
        unit: 'bool',
        columns: 2,
        targets: [
          {
            expression: `min by (connection) (sotto_connection_reachable{${JOB}})`,
            legend: '{{connection}}',
          },
        ],
      },
      {
        title: 'Answers from data',
        description: 'Requests per second to routes whose duration depends on data, by status.',
        kind: 'timeseries',
        unit: 'reqps',
        columns: 2,
        targets: [
          {
            expression: `sum by (status) (rate(sotto_answer_duration_seconds_count{${JOB}}[$__rate_interval]))`,
            legend: '{{status}}',
          },
        ],
      },
      {
        title: 'Other requests',
        description: 'All other requests per second, by status, without health checks.',
        kind: 'timeseries',
        unit: 'reqps',
        columns: 2,
        targets: [
          {
            expression: `sum by (status) (rate(sotto_http_request_duration_seconds_count{${JOB},${PROBES}}[$__rate_interval]))`,
            legend: '{{status}}',
          },
        ],
      },
      {
        title: 'Duration of answers from data',
        description:
          'Share of the answers within each bound. The bounds are coarse, because exact durations depend on data.',
        kind: 'timeseries',
        unit: 'percentunit',
        columns: 2,
        targets: [
          {
            expression:
              `sum by (le) (rate(sotto_answer_duration_seconds_bucket{${JOB},le!="+Inf"}[$__rate_interval])) / ` +
              `on () group_left () sum(rate(sotto_answer_duration_seconds_count{${JOB}}[$__rate_interval]))`,
            legend: 'within {{le}} s',
          },
        ],
      },
      {
        title: 'Duration of other requests',
        description: 'The 99th percentile by route.',
        kind: 'timeseries',
        unit: 's',
        columns: 2,
        targets: [
          { expression: quantile(0.99, 'sotto_http_request_duration_seconds', 'route'), legend: '{{route}}' },
        ],
      },
    ],
  },
  {
    title: 'Queries',
    panels: [
      {
        title: 'Charges',
        description: 'Decisions about charges per second, by outcome.',
        kind: 'timeseries',
        unit: 'cps',
        columns: 2,
        targets: [
          {
            expression: `sum by (outcome) (rate(sotto_charges_total{${DATASET}}[$__rate_interval]))`,
            legend: '{{outcome}}',
          },
        ],
      },
      {
        title: 'Denials',
        description: 'Requests in an hour that the budget or an allotment did not cover, by dataset.',
        kind: 'timeseries',
        unit: 'short',
        columns: 2,
        targets: [
          {
            expression: `sum by (dataset) (increase(sotto_charges_total{${DATASET},outcome="denied"}[1h]))`,
            legend: '{{dataset}}',
          },
        ],
      },
      {
        title: 'Failures after a charge',
        description: 'Failures in an hour, by dataset. Those that count can suspend the dataset.',
        kind: 'timeseries',
        unit: 'short',
        columns: 2,
        targets: [
          {
            expression: `sum by (dataset, counted) (increase(sotto_failures_total{${DATASET}}[1h]))`,
            legend: '{{dataset}}, counts: {{counted}}',
          },
        ],
      },
      {
        title: 'Queue',
        description: 'Requests that are being computed, and those that wait for a turn or a place.',
        kind: 'timeseries',
        unit: 'short',
        columns: 1,
        targets: [{ expression: `sum by (state) (sotto_queue_requests{${JOB}})`, legend: '{{state}}' }],
      },
      {
        title: 'Wait for a place',
        description: 'Share of the queries that waited longer than a bound.',
        kind: 'timeseries',
        unit: 'percentunit',
        columns: 1,
        targets: ['0.25', '5'].map((bound) => ({
          expression:
            `1 - sum(rate(sotto_queue_wait_seconds_bucket{${JOB},le="${bound}"}[$__rate_interval])) / ` +
            `sum(rate(sotto_queue_wait_seconds_count{${JOB}}[$__rate_interval]))`,
          legend: `longer than ${bound} s`,
        })),
      },
    ],
  },
  {
    title: 'Budgets',
    panels: [
      {
        title: 'Budget that is left',
        description: 'Part of the cap, by dataset and unit.',
        kind: 'bargauge',
        unit: 'percentunit',
        columns: 2,
        targets: [
          {
            expression:
              `min by (dataset, unit) (sotto_budget_remaining{${DATASET}}) / ` +
              `(max by (dataset, unit) (sotto_budget_cap{${DATASET}}) > 0)`,
            legend: '{{dataset}}, {{unit}}',
          },
        ],
      },
      {
        title: 'Time until the budget is spent',
        description: 'At the rate of the last day. Datasets that spent nothing are not listed.',
        kind: 'bargauge',
        unit: 's',
        columns: 2,
        targets: [
          {
            expression:
              `min by (dataset, unit) (sotto_budget_remaining{${DATASET}}) / ` +
              `(deriv(${SPENT}[1d:10m]) > 0)`,
            legend: '{{dataset}}, {{unit}}',
          },
        ],
      },
      {
        title: 'Remaining budget',
        description: 'Epsilon and delta, or rho, that are left.',
        kind: 'timeseries',
        unit: 'short',
        columns: 2,
        targets: [
          {
            expression: `min by (dataset, unit) (sotto_budget_remaining{${DATASET}})`,
            legend: '{{dataset}}, {{unit}}',
          },
        ],
      },
      {
        title: 'Spent in a day',
        description: 'Epsilon and delta, or rho, of the last 24 hours.',
        kind: 'timeseries',
        unit: 'short',
        columns: 2,
        targets: [{ expression: `delta(${SPENT}[1d:10m])`, legend: '{{dataset}}, {{unit}}' }],
      },
    ],
  },
  {
    title: 'Ledger and process',
    panels: [
      {
        title: 'Commits of the ledger',
        description: 'Time until a change was durable, with the wait for the batch before it.',
        kind: 'timeseries',
        unit: 's',
        columns: 2,
        targets: [0.5, 0.99].map((share) => ({
          expression: quantile(share, 'sotto_ledger_commit_seconds', ''),
          legend: `${share * 100}th percentile`,
        })),
      },
      {
        title: 'Disk',
        description: 'Free space on the fullest volume, and the space below which the service is not ready.',
        kind: 'timeseries',
        unit: 'bytes',
        columns: 2,
        targets: [
          { expression: `sotto_disk_free_bytes{${JOB}}`, legend: '{{instance}}' },
          { expression: `max(sotto_disk_required_bytes{${JOB}})`, legend: 'required' },
        ],
      },
      {
        title: 'Event loop',
        description: 'The 99th percentile of the delay since the last scrape.',
        kind: 'timeseries',
        unit: 's',
        columns: 2,
        targets: [{ expression: ofProcesses('nodejs_eventloop_lag_p99_seconds'), legend: '{{instance}}' }],
      },
      {
        title: 'Memory',
        description: 'Resident memory of the process.',
        kind: 'timeseries',
        unit: 'bytes',
        columns: 1,
        targets: [{ expression: ofProcesses('process_resident_memory_bytes'), legend: '{{instance}}' }],
      },
      {
        title: 'Processor',
        description: 'Processors that the process uses.',
        kind: 'timeseries',
        unit: 'short',
        columns: 1,
        targets: [
          {
            expression: `rate(process_cpu_seconds_total{${JOB}}[$__rate_interval]) and on (job, instance) sotto_ready`,
            legend: '{{instance}}',
          },
        ],
      },
    ],
  },
]

const GRID_COLUMNS = 24
const PANEL_HEIGHT = 8
const DATASOURCE = { type: 'prometheus', uid: '$datasource' }

/** Returns the dashboard as Grafana imports it (schema version 39, Grafana 10 or newer). */
export function dashboard(): string {
  return `${JSON.stringify(
    {
      uid: 'sotto',
      title: 'Sotto',
      description: 'Written by npm run monitoring. For operators: it shows analysts more than they may know.',
      tags: ['sotto'],
      schemaVersion: 39,
      version: 1,
      editable: true,
      refresh: '1m',
      time: { from: 'now-24h', to: 'now' },
      timezone: 'utc',
      templating: { list: variables() },
      annotations: { list: [] },
      panels: panels(),
    },
    null,
    2,
  )}\n`
}

/** The variables that are chosen at the top of the dashboard. */
function variables(): readonly object[] {
  const ofLabel = (name: string, query: string) => ({
    name,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  })
  return [
    { name: 'datasource', type: 'datasource', query: 'prometheus', current: {} },
    ofLabel('job', 'label_values(sotto_ready, job)'),
    ofLabel('dataset', 'label_values(sotto_budget_remaining{job=~"$job"}, dataset)'),
  ]
}

/** Places the panels from left to right, each row below the row before it. */
function panels(): readonly object[] {
  const placed: object[] = []
  let [x, y] = [0, 0]
  const endLine = () => {
    if (x > 0) y += PANEL_HEIGHT
    x = 0
  }
  for (const row of ROWS) {
    endLine()
    const gridPos = { x, y, w: GRID_COLUMNS, h: 1 }
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos,
      panels: [],
    })
    y += 1
    for (const panel of row.panels) {
      const width = (panel.columns * GRID_COLUMNS) / 4
      if (x + width > GRID_COLUMNS) endLine()
      placed.push(panelJson(panel, placed.length + 1, { x, y, w: width, h: PANEL_HEIGHT }))
      x += width
    }
  }
  return placed
}

function panelJson({ title, description, kind, unit, targets }: Panel, id: number, gridPos: object): object {
  const isCurrent = kind !== 'timeseries'
  return {
    id,
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: isCurrent
      ? { reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false }, orientation: 'horizontal' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: targets.map(({ expression, legend }, place) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + place),
      datasource: DATASOURCE,
      expr: expression,
      legendFormat: legend,
      ...(isCurrent ? { instant: true } : {}),
    })),
  }
}
