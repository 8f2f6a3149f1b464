import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { ROWS } from '../../deploy/monitoring/dashboard.ts'
import { installed } from '../installed.ts'

const alerts = path.resolve(import.meta.dirname, '../../deploy/prometheus/alerts.yaml')

/** Samples of each series in steps of one minute, in the notation of promtool (`0+1x60`: from 0, 60 times 1 more). */
type Series = Readonly<Record<string, string>>

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-promtool-'))
})
afterAll(() => rm(folder, { recursive: true }))

function promtool(...args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

/** Requires that exactly the given alerts fire at an instant, each with its number of label sets. */
async function requireFiring(series: Series, at: string, firing: Readonly<Record<string, number>>) {
  const document = {
    rule_files: [alerts],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          {
            expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: at,
            exp_samples: Object.entries(firing).map(([name, value]) => ({
              labels: `{alertname="${name}"}`,
              value,
            })),
          },
        ],
      },
    ],
  }
  const file = path.join(folder, 'test.yaml')
  await writeFile(file, stringify(document))
  const { status, output } = promtool('test', 'rules', file)
  expect(status, output).toBe(0)
}

const TARGET = 'job="sotto",instance="a"'
const OTHER = 'job="sotto",instance="b"'
const CENSUS = `${TARGET},dataset="census"`
const EPSILON = `${CENSUS},unit="epsilon"`

/** A service at work about which nothing is to be said. */
const QUIET: Series = {
  [`up{${TARGET}}`]: '1x3000',
  [`sotto_ready{${TARGET}}`]: '1x3000',
  [`sotto_http_request_duration_seconds_count{${TARGET},method="GET",route="/v1/datasets",status="200"}`]:
    '0+60x3000',
  [`sotto_http_request_duration_seconds_count{${TARGET},method="GET",route="/readyz",status="503"}`]:
    '0+60x3000',
  [`sotto_answer_duration_seconds_count{${TARGET},method="POST",route="/q",status="200"}`]: '0+60x3000',
  [`sotto_answer_duration_seconds_count{${TARGET},method="POST",route="/q",status="503"}`]: '0+2x3000',
  [`sotto_queue_wait_seconds_count{${TARGET}}`]: '0+60x3000',
  [`sotto_queue_wait_seconds_bucket{${TARGET},le="5"}`]: '0+58x3000',
  [`sotto_failures_total{${CENSUS},counted="true"}`]: '0x3000',
  [`sotto_failures_total{${CENSUS},counted="false"}`]: '0x3000',
  [`sotto_charges_total{${CENSUS},outcome="charged"}`]: '0+60x3000',
  [`sotto_charges_total{${CENSUS},outcome="denied"}`]: '0x3000',
  [`sotto_dataset_suspended{${CENSUS}}`]: '0x3000',
  [`sotto_budget_cap{${EPSILON}}`]: '10x3000',
  [`sotto_budget_remaining{${EPSILON}}`]: '9x3000',
  [`sotto_budget_cap{${CENSUS},unit="delta"}`]: '0x3000',
  [`sotto_budget_remaining{${CENSUS},unit="delta"}`]: '0x3000',
  [`sotto_ledger_commit_seconds_bucket{${TARGET},le="0.1"}`]: '0+60x3000',
  [`sotto_ledger_commit_seconds_bucket{${TARGET},le="+Inf"}`]: '0+60x3000',
  [`sotto_disk_free_bytes{${TARGET}}`]: '1000000000x3000',
  [`sotto_disk_required_bytes{${TARGET}}`]: '256000000x3000',
  [`nodejs_eventloop_lag_p99_seconds{${TARGET}}`]: '0.02x3000',
  'nodejs_eventloop_lag_p99_seconds{job="another",instance="a"}': '3x3000',
  [`sotto_connection_reachable{${TARGET},connection="warehouse"}`]: '1x3000',
}

describe.skipIf(!installed('promtool'))('promtool (of the package prometheus)', () => {
  test('accepts the rules', () => {
    const { status, output } = promtool('check', 'rules', alerts)
    expect(status, output).toBe(0)
    expect(output).toContain('SUCCESS: 15 rules found')
  })

  test('accepts each expression of the dashboard', async () => {
    const expressions = ROWS.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets))
    const rules = expressions.map(({ expression }, place) => ({
      record: `panel:${place}`,
      expr: expression.replaceAll('$__rate_interval', '5m').replaceAll(/\$(job|dataset)/g, '.*'),
    }))
    const file = path.join(folder, 'panels.yaml')
    await writeFile(file, stringify({ groups: [{ name: 'panels', rules }] }))
    const { status, output } = promtool('check', 'rules', file)
    expect(status, output).toBe(0)
    expect(rules.length).toBeGreaterThan(20)
  })

  test('no alert fires about a service that works', () => requireFiring(QUIET, '48h', {}))

  test('a service that answers no more', async () => {
    const gone = Object.fromEntries(Object.keys(QUIET).map((name) => [name, '1x60 stale']))
    await requireFiring(gone, '61m', {})
    await requireFiring(gone, '64m', { SottoDown: 1 })
  })

  test('one of two replicas that answers no more, but no target of another job', async () => {
    const series = {
      ...QUIET,
      [`up{${OTHER}}`]: '1x60 0x60',
      [`sotto_ready{${OTHER}}`]: '1x60 stale',
      'up{job="another",instance="c"}': '0x120',
    }
    await requireFiring(series, '63m', {})
    await requireFiring(series, '70m', { SottoReplicaDown: 1 })
  })

  test('a first request that is answered 500, and a service that answers many requests 503', async () => {
    const route = `${TARGET},method="GET",route="/v1/me"`
    const error = `sotto_http_request_duration_seconds_count{${route},status="500"}`
    await requireFiring({ ...QUIET, [error]: '_x60 1x100' }, '62m', { SottoServerErrors: 1 })
    await requireFiring({ ...QUIET, [error]: '_x60 1x100' }, '80m', {})
    await requireFiring({ ...QUIET, [error]: '1x60 2x100' }, '62m', { SottoServerErrors: 1 })
    const busy = `sotto_answer_duration_seconds_count{${TARGET},method="POST",route="/q",status="503"}`
    await requireFiring({ ...QUIET, [busy]: '0+10x300' }, '60m', { SottoUnavailable: 1 })
  })

  test('a service that is not ready, a long queue, slow commits and a late event loop', async () => {
    const series = {
      ...QUIET,
      [`sotto_ready{${TARGET}}`]: '0x300',
      [`sotto_queue_wait_seconds_bucket{${TARGET},le="5"}`]: '0+50x300',
      [`sotto_ledger_commit_seconds_bucket{${TARGET},le="0.1"}`]: '0+50x300',
      [`sotto_ledger_commit_seconds_bucket{${TARGET},le="1"}`]: '0+60x300',
      [`nodejs_eventloop_lag_p99_seconds{${TARGET}}`]: '0.4x300',
      [`sotto_connection_reachable{${TARGET},connection="warehouse"}`]: '0x300',
    }
    const firing = ['NotReady', 'QueueSlow', 'LedgerSlow', 'EventLoopBlocked', 'ConnectionUnreachable']
    await requireFiring(series, '60m', Object.fromEntries(firing.map((name) => [`Sotto${name}`, 1])))
  })

  test('the first failure after a charge, and a suspension', async () => {
    const failed = { [`sotto_failures_total{${CENSUS},counted="true"}`]: '0x60 1x300' }
    await requireFiring({ ...QUIET, ...failed }, '62m', { SottoQueryFailures: 1 })
    await requireFiring({ ...QUIET, ...failed }, '200m', {})
    const suspended = { [`sotto_dataset_suspended{${CENSUS}}`]: '0x60 1x300' }
    await requireFiring({ ...QUIET, ...suspended }, '62m', { SottoDatasetSuspended: 1 })
  })

  test('a budget that is almost spent, while the dataset is queried', async () => {
    const left = { [`sotto_budget_remaining{${EPSILON}}`]: '0.5x300' }
    await requireFiring({ ...QUIET, ...left }, '60m', { SottoBudgetLow: 1 })
    const unused = { [`sotto_charges_total{${CENSUS},outcome="charged"}`]: '7x300' }
    await requireFiring({ ...QUIET, ...left, ...unused }, '60m', {})
    // The charges of a population are counted by dataset.
    const population = `${TARGET},dataset="@population:staff",unit="epsilon"`
    const spending = {
      ...QUIET,
      [`sotto_budget_cap{${population}}`]: '10x3000',
      [`sotto_budget_remaining{${population}}`]: '0.9-0.0001x3000',
    }
    await requireFiring(spending, '60m', { SottoBudgetLow: 1 })
  })

  test('a budget that will be spent in less than a week, also if a replica is replaced', async () => {
    // A day costs 1.44 of the cap of 10.
    const replaced = {
      ...QUIET,
      [`sotto_budget_remaining{${EPSILON}}`]: '9-0.001x800 stale',
      [`sotto_budget_cap{${EPSILON}}`]: '10x800 stale',
      [`sotto_budget_remaining{${OTHER},dataset="census",unit="epsilon"}`]: '_x801 8.2-0.001x2000',
      [`sotto_budget_cap{${OTHER},dataset="census",unit="epsilon"}`]: '_x801 10x2000',
    }
    await requireFiring(replaced, '30h', { SottoBudgetSpentSoon: 1 })
    const slow = { [`sotto_budget_remaining{${EPSILON}}`]: '9-0.0001x3000' }
    await requireFiring({ ...QUIET, ...slow }, '30h', {})
    // A grant is not a negative cost.
    const granted = {
      [`sotto_budget_remaining{${EPSILON}}`]: '9-0.001x900 18.1-0.001x2000',
      [`sotto_budget_cap{${EPSILON}}`]: '10x900 20x2000',
    }
    await requireFiring({ ...QUIET, ...granted }, '20h', {})
  })

  test('many denials in an hour', async () => {
    const denied = (perMinute: string) => ({
      ...QUIET,
      [`sotto_charges_total{${CENSUS},outcome="denied"}`]: perMinute,
    })
    await requireFiring(denied('0x60 0+1x20'), '75m', { SottoDenials: 1 })
    await requireFiring(denied('0x60 5x20'), '75m', {})
  })

  test('a disk that is almost full, and one that will be', async () => {
    const disk = `sotto_disk_free_bytes{${TARGET}}`
    await requireFiring({ ...QUIET, [disk]: '500000000x100' }, '30m', { SottoDiskLow: 1 })
    const shrinking = { ...QUIET, [disk]: '1000000000-1000000x400' }
    await requireFiring(shrinking, '60m', {})
    await requireFiring(shrinking, '240m', { SottoDiskLow: 1 })
  })
})
