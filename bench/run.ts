import { availableParallelism, cpus } from 'node:os'
import { type HttpFigure, httpBenchmark } from './http.ts'
import { type LedgerFigure, ledgerBenchmark } from './ledger.ts'
import { type NoiseFigure, noiseBenchmark } from './noise.ts'

/** Of the bare route's requests per second, what Sotto is to reach at the most connections. */
const GOAL = 0.5

const asJson = process.argv.includes('--json')
if (!asJson) console.log(`${machine()}. Two to three minutes.`)

const http = await httpBenchmark()
if (!asJson) printHttp(http)
const noise = noiseBenchmark()
if (!asJson) printNoise(noise)
const ledger = await ledgerBenchmark()
if (!asJson) printLedger(ledger)
if (asJson) console.log(JSON.stringify({ machine: machine(), http, noise, ledger }, null, 2))

function machine(): string {
  return `Node ${process.version}, ${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`
}

function printHttp(figures: readonly HttpFigure[]): void {
  printTable(
    'A noisy count over 100,000 rows, paid for durably, over HTTP',
    ['connections', 'who', 'requests/s', 'p50 ms', 'p99 ms', 'Sotto / this one (rounds)'],
    figures.map(({ connections, contender, requestsPerSecond, p50Ms, p99Ms, sottoRatio }) => [
      String(connections),
      contender,
      requestsPerSecond.toFixed(0),
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
      sottoRatio === undefined
        ? ''
        : `${sottoRatio.median.toFixed(2)} (${sottoRatio.lowest.toFixed(2)} to ${sottoRatio.highest.toFixed(2)})`,
    ]),
  )
  const last = figures.findLast(({ contender }) => contender === 'bare route')
  const ratio = last?.sottoRatio?.median ?? Number.NaN
  console.log(
    `\nAt ${last?.connections} connections Sotto reaches ${ratio.toFixed(2)} of the bare route: the goal of ${GOAL} is ${ratio >= GOAL ? 'met' : 'missed'}.`,
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

function printLedger(figures: readonly LedgerFigure[]): void {
  printTable(
    'The ledger alone',
    ['what', 'callers', 'debits/s', 'p99 ms', 'calls per commit'],
    figures.map(({ what, callers, debitsPerSecond, p99Ms, callsPerCommit }) => [
      what,
      String(callers),
      debitsPerSecond.toFixed(0),
      p99Ms.toFixed(1),
      callsPerCommit.toFixed(1),
    ]),
  )
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
