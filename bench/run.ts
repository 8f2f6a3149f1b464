import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { BOUNDING_GOAL, type BoundingFigure, boundingBenchmark } from './bounding.ts'
import { type CompositionFigure, compositionBenchmark } from './composition.ts'
import { type EventLoopFigure, eventLoopBenchmark } from './event-loop.ts'
import { FAIRNESS_GOALS, type FairnessFigure, fairnessBenchmark, missedFairness } from './fairness.ts'
import { type HttpFigure, httpBenchmark } from './http.ts'
import { INGEST_GOALS, type IngestFigure, ingestBenchmark } from './ingest.ts'
import { LARGE_GOAL, type LargeFigure, largeBenchmark } from './large.ts'
import {
  type GrowthFigure,
  growthBenchmark,
  type LedgerFigure,
  postgresLedgerBenchmark,
  sqliteLedgerBenchmark,
} from './ledger.ts'
import { type NoiseFigure, noiseBenchmark } from './noise.ts'
import { type OpenDpComparison, openDpBenchmark } from './opendp.ts'
import { BLOCK, TIMING_GOAL, type TimingFigure, timingBenchmark } from './timing.ts'

const PARTS = [
  'http',
  'noise',
  'ledger',
  'growth',
  'opendp',
  'composition',
  'ingest',
  'bounding',
  'fairness',
  'event-loop',
  'timing',
  'large',
] as const
type Part = (typeof PARTS)[number]

const {
  flood,
  json: asJson,
  only,
  rows,
} = parseArgs({
  options: {
    flood: { type: 'string' },
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    rows: { type: 'string' },
  },
}).values
if (rows !== undefined && !/^[1-9]\d{0,9}$/.test(rows)) {
  console.error(`--rows ${rows}: must be a number of rows for the part large`)
  process.exit(2)
}
const unknown = only?.find((part) => !PARTS.includes(part as Part))
if (unknown !== undefined) {
  console.error(`--only ${unknown}: the parts are ${PARTS.join(', ')}`)
  process.exit(2)
}
/** Parts that run only when they are named, because they need much time and disk space. */
const NAMED_ONLY: readonly Part[] = ['large']
const chosen = (part: Part): boolean =>
  only === undefined ? !NAMED_ONLY.includes(part) : only.includes(part)

if (!asJson) console.log(`${machine()}.${only === undefined ? ' About 25 minutes.' : ''}`)
const results: Partial<Record<Part, unknown>> = {}

if (chosen('http')) {
  const http = await httpBenchmark()
  results.http = http
  if (!asJson) printHttp(http)
}
if (chosen('noise')) {
  const noise = noiseBenchmark()
  results.noise = noise
  if (!asJson) printNoise(noise)
}
if (chosen('ledger')) {
  const sqlite = await sqliteLedgerBenchmark()
  const postgres = await postgresLedgerBenchmark()
  results.ledger = [...sqlite, ...(postgres ?? [])]
  if (!asJson) {
    printLedger('The ledger in SQLite, and SQLite itself with grouped commits', sqlite)
    if (postgres === undefined)
      console.log('\nThis machine has no PostgreSQL, so its ledger is not measured.')
    else printLedger('The ledger in PostgreSQL, and one SELECT … FOR UPDATE transaction per charge', postgres)
  }
}
if (chosen('growth')) {
  const growth = await growthBenchmark()
  results.growth = growth
  if (!asJson) printGrowth(growth)
}
if (chosen('opendp')) {
  const opendp = await openDpBenchmark()
  results.opendp = opendp
  if (!asJson) printOpenDp(opendp)
}
if (chosen('composition')) {
  const composition = compositionBenchmark()
  results.composition = composition
  if (!asJson) printComposition(composition)
}
if (chosen('ingest')) {
  const ingest = await ingestBenchmark()
  results.ingest = ingest
  if (!asJson) printIngest(ingest)
}
if (chosen('large')) {
  const large = await largeBenchmark(rows === undefined ? undefined : Number(rows))
  results.large = large
  if (!asJson) printLarge(large)
}
if (chosen('bounding')) {
  const bounding = await boundingBenchmark()
  results.bounding = bounding
  if (!asJson) printBounding(bounding)
}
if (chosen('timing')) {
  const timing = await timingBenchmark()
  results.timing = timing
  if (!asJson) printTiming(timing)
}
if (chosen('fairness')) {
  const fairness = await fairnessBenchmark(flood)
  results.fairness = fairness
  if (!asJson) printFairness(fairness)
}
if (chosen('event-loop')) {
  const eventLoop = await eventLoopBenchmark()
  results['event-loop'] = eventLoop
  if (!asJson) printEventLoop(eventLoop)
}
if (asJson) console.log(JSON.stringify({ machine: machine(), ...results }, null, 2))

function machine(): string {
  return `Node ${process.version}, ${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`
}

function printHttp(figures: readonly HttpFigure[]): void {
  printTable(
    'A noisy count, charged durably, over HTTP',
    [
      'rows',
      'counts',
      'connections',
      'who',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'processor ms/request',
      'Sotto / this one (rounds)',
      'goal',
    ],
    figures.map(({ rows, counts, connections, contender, ...figure }) => [
      String(rows),
      counts,
      String(connections),
      contender,
      figure.requestsPerSecond.toFixed(0),
      figure.p50Ms.toFixed(1),
      figure.p99Ms.toFixed(1),
      figure.processorMsPerRequest.toFixed(2),
      figure.sottoRatio === undefined
        ? ''
        : `${figure.sottoRatio.median.toFixed(2)} (${figure.sottoRatio.lowest.toFixed(2)} to ${figure.sottoRatio.highest.toFixed(2)})`,
      figure.goal === undefined
        ? ''
        : `${figure.goal} ${(figure.sottoRatio?.median ?? 0) >= figure.goal ? 'met' : 'missed'}`,
    ]),
  )
}

function printNoise(figures: readonly NoiseFigure[]): void {
  printTable(
    'One sample of noise',
    ['what', 'ns', 'against the unsafe one'],
    figures.map(({ name, nanosecondsPerSample, ratioToUnsafeLaplace }) => [
      name,
      nanosecondsPerSample.toFixed(0),
      ratioToUnsafeLaplace.toFixed(1),
    ]),
  )
}

function printLedger(title: string, figures: readonly LedgerFigure[]): void {
  printTable(
    title,
    [
      'datasets',
      'callers',
      'charges/s',
      'p99 ms',
      'calls per commit',
      'bare, charges/s',
      'ours / bare (rounds)',
    ],
    figures.map((figure) => [
      String(figure.datasets),
      String(figure.callers),
      figure.chargesPerSecond.toFixed(0),
      figure.p99Ms.toFixed(1),
      figure.callsPerCommit.toFixed(1),
      figure.bareChargesPerSecond.toFixed(0),
      `${figure.ratio.median.toFixed(2)} (${figure.ratio.lowest.toFixed(2)} to ${figure.ratio.highest.toFixed(2)})`,
    ]),
  )
}

function printGrowth(figures: readonly GrowthFigure[]): void {
  printTable(
    'Charges by 64 callers on a dataset with few events and on one with many events',
    ['store', 'events', 'charges/s'],
    figures.map(({ store, events, chargesPerSecond }) => [
      store,
      String(events),
      chargesPerSecond.toFixed(0),
    ]),
  )
}

function printOpenDp(comparison: OpenDpComparison): void {
  if ('skipped' in comparison) {
    console.log(
      `\nThe comparison with OpenDP is skipped because it could not be installed: ${comparison.skipped}`,
    )
    return
  }
  const { versions, figures } = comparison
  printTable(
    `Sotto and OpenDP ${versions.opendp} (Python ${versions.python}, numpy ${versions.numpy})`,
    ['what', 'Sotto', 'OpenDP', 'OpenDP / Sotto (rounds)'],
    figures.map(({ what, sottoNanoseconds, opendpNanoseconds, ratio }) => [
      what,
      duration(sottoNanoseconds),
      opendpNanoseconds === undefined ? '' : duration(opendpNanoseconds),
      ratio === undefined
        ? ''
        : `${ratio.median.toFixed(1)} (${ratio.lowest.toFixed(1)} to ${ratio.highest.toFixed(1)})`,
    ]),
  )
  const slower = figures.filter(({ ratio }) => ratio !== undefined && ratio.median <= 1)
  console.log(
    slower.length === 0
      ? '\nSotto is faster than OpenDP at each.'
      : `\nSotto is slower than OpenDP at: ${slower.map(({ what }) => what).join('; ')}.`,
  )
}

function printComposition(figures: readonly CompositionFigure[]): void {
  printTable(
    'Number of counts that a budget of epsilon 1 and delta 1e-6 pays for',
    ['epsilon of each', 'basic', 'zcdp'],
    figures.map(({ epsilonOfEach, counts }) => [
      String(epsilonOfEach),
      String(counts.basic),
      String(counts.zcdp),
    ]),
  )
}

function printIngest(figures: readonly IngestFigure[]): void {
  printTable(
    'Ingestion, and a plain CREATE TABLE AS of the same file',
    [
      'format',
      'privacy unit',
      'rows',
      'plain, s',
      'Sotto, s',
      'Sotto / plain (rounds)',
      'goal',
      'processor time',
      'peak, MB',
    ],
    figures.map(({ format, unit, rows, plainSeconds, sottoSeconds, ratio, cpuRatio, peakBytes }) => [
      format,
      unit,
      String(rows),
      plainSeconds.toFixed(1),
      sottoSeconds.toFixed(1),
      `${ratio.median.toFixed(1)} (${ratio.lowest.toFixed(1)} to ${ratio.highest.toFixed(1)})`,
      String(INGEST_GOALS[unit]),
      cpuRatio.toFixed(1),
      (peakBytes / 1e6).toFixed(0),
    ]),
  )
}

function printLarge({ rows, sottoSeconds, duckDbSeconds, queries }: LargeFigure): void {
  console.log(
    `\n${rows} rows: ingested in ${sottoSeconds.toFixed(1)} s, by DuckDB's CREATE TABLE AS in ${duckDbSeconds.toFixed(1)} s`,
  )
  for (const { what, sottoMs, duckDbMs, ratio, cpuRatio } of queries)
    console.log(
      `${what}: ${sottoMs.toFixed(1)} ms, DuckDB ${duckDbMs.toFixed(1)} ms, ratio ${ratio.median.toFixed(2)} ` +
        `(${ratio.lowest.toFixed(2)} to ${ratio.highest.toFixed(2)}), processor time ${cpuRatio.median.toFixed(2)}`,
    )
  const slower = queries.filter(({ ratio }) => ratio.median > LARGE_GOAL)
  console.log(`The goal of ${LARGE_GOAL} is ${slower.length === 0 ? 'met' : 'missed'}.`)
}

function printBounding(figures: readonly BoundingFigure[]): void {
  printTable(
    'Bounded contributions of 1.5 million people with 10 million rows, and the same in SQL for DuckDB',
    ['what', 'DuckDB, ms', 'Sotto, ms', 'Sotto / DuckDB (rounds)', 'processor time'],
    figures.map(({ what, duckDbMs, sottoMs, ratio, cpuRatio }) => [
      what,
      duckDbMs.toFixed(0),
      sottoMs.toFixed(0),
      `${ratio.median.toFixed(2)} (${ratio.lowest.toFixed(2)} to ${ratio.highest.toFixed(2)})`,
      cpuRatio.median.toFixed(2),
    ]),
  )
  const slower = figures.filter(({ ratio }) => ratio.median > BOUNDING_GOAL)
  console.log(
    slower.length === 0
      ? `\nThe goal of ${BOUNDING_GOAL} is met at each.`
      : `\nThe goal of ${BOUNDING_GOAL} is missed at: ${slower.map(({ what }) => what).join('; ')}.`,
  )
}

function printTiming(figures: readonly TimingFigure[]): void {
  printTable(
    'How well the time of an answer tells whether one person is in the data',
    ['timing', 'query', 'repeats', 'AUC', `AUC of the medians of ${BLOCK}`, 'p50 ms', 'p99 ms'],
    figures.map(({ timing, query, repeats, p50Ms, p99Ms, ...figure }) => [
      timing,
      query,
      String(repeats),
      `${figure.auc.toFixed(3)} ± ${figure.standardError.toFixed(3)}`,
      `${figure.aucOfBlocks.toFixed(2)} ± ${figure.standardErrorOfBlocks.toFixed(2)}`,
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
    ]),
  )
  const delayed = figures.filter(({ timing }) => timing !== 'off')
  // An attacker may as well guess from shorter times.
  const telling = delayed.filter(({ auc }) => Math.max(auc, 1 - auc) >= TIMING_GOAL)
  console.log(
    telling.length === 0
      ? `\nThe goal of ${TIMING_GOAL} is met at each with slots and a deadline.`
      : `\nThe goal of ${TIMING_GOAL} is missed at: ${telling.map(({ timing, query }) => `${query} (${timing})`).join('; ')}. By ` +
          'chance alone one in seven is.',
  )
}

function printFairness(figures: readonly FairnessFigure[]): void {
  printTable(
    "One analyst's counts while 64 connections of another principal send requests about the same million rows, timing off",
    [
      'flood',
      'answered/s',
      'refused/s',
      'idle p50 ms',
      'idle p95 ms',
      'p50 ms',
      'p95 ms',
      '/healthz p95 ms',
      'p50 / idle p50',
    ],
    figures.map(({ flood, floodPerSecond, idle, flooded, probe, ratio }) => [
      flood,
      ...[
        floodPerSecond.answered,
        floodPerSecond.refused,
        idle.p50Ms,
        idle.p95Ms,
        flooded.p50Ms,
        flooded.p95Ms,
        probe.p95Ms,
        ratio,
      ].map((figure) => figure.toFixed(1)),
    ]),
  )
  const { ratio, p95Ms, probeP95Ms } = FAIRNESS_GOALS
  const goals = `${ratio} times idle, ${p95Ms} ms and ${probeP95Ms} ms for /healthz`
  const missed = missedFairness(figures)
  console.log(
    missed.length === 0
      ? `\nThe goals of ${goals} are met at each.`
      : `\nThe goals of ${goals} are missed at: ${missed.join('; ')}.`,
  )
}

function printEventLoop(figures: readonly EventLoopFigure[]): void {
  printTable(
    'How long one request holds up the event loop, timing off',
    ['request', 'longest delay, ms', 'busiest turn, processor ms', 'request, ms'],
    figures.map(({ request, longestDelayMs, busiestTurnMs, tookMs }) => [
      request,
      longestDelayMs.toFixed(1),
      busiestTurnMs.toFixed(1),
      tookMs.toFixed(1),
    ]),
  )
}

function duration(nanoseconds: number): string {
  const [amount, unit] =
    nanoseconds < 1e4
      ? [nanoseconds, 'ns']
      : nanoseconds < 1e7
        ? [nanoseconds / 1e3, 'µs']
        : [nanoseconds / 1e6, 'ms']
  return `${amount < 100 ? amount.toPrecision(2) : amount.toFixed(0)} ${unit}`
}

function printTable(title: string, headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  console.log(`\n${title}\n`)
  for (const row of [headings, widths.map((width) => '-'.repeat(width)), ...rows]) console.log(line(row))
}
