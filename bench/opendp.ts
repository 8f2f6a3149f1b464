import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import seedrandom from 'seedrandom'
import { readConfig } from '../src/config.ts'
import type { Dataset, NumericColumn } from '../src/core/dataset/dataset.ts'
import type { Measurement } from '../src/core/mechanisms/measurement.ts'
import { addNoise } from '../src/core/mechanisms/measurement.ts'
import { calibrateGeometric } from '../src/core/mechanisms/noise/geometric.ts'
import { systemEntropy } from '../src/core/mechanisms/samplers/entropy.ts'
import { calibrateNoisyMax, selectNoisyMax } from '../src/core/mechanisms/selection/noisy-max.ts'
import {
  calibrateQuantile,
  percentileScore,
  selectQuantile,
} from '../src/core/mechanisms/selection/quantile.ts'
import { stabilityOfRank } from '../src/core/planner/price/stability.ts'
import { openDuckDbEngine } from '../src/engines/duckdb/engine.ts'
import { ingest } from '../src/engines/duckdb/ingestion/ingest.ts'
import { epsilonNano, NO_LOSS, ONE_EPSILON_NANO } from '../src/privacy/loss.ts'
import { rational } from '../src/privacy/rational.ts'
import { median } from './median.ts'
import { type Peer, type PeerRequest, startPeer } from './opendp-peer.ts'
import { writeParquet } from './write-parquet.ts'

/** Times of the same work in both libraries, in nanoseconds per unit of work: medians over the rounds. */
export interface OpenDpFigure {
  readonly what: string
  readonly sottoNanoseconds: number
  /** Absent if OpenDP has no equivalent. */
  readonly opendpNanoseconds?: number
  /** OpenDP's time divided by Sotto's in the same round. */
  readonly ratio?: { readonly median: number; readonly lowest: number; readonly highest: number }
}

/** The measurements, or the reason why they were not made. */
export type OpenDpComparison =
  | { readonly versions: Peer['versions']; readonly figures: readonly OpenDpFigure[] }
  | { readonly skipped: string }

const ROUNDS = 5
/** Fewer rounds, for work that takes OpenDP many seconds. */
const FEW_ROUNDS = 3
const WARM_UP_ROUNDS = 2

const SCALES = [
  { scale: 1n, label: '1' },
  { scale: 10n, label: '10' },
  { scale: 1_000_000n, label: '10^6' },
  { scale: 1n << 40n, label: '2^40' },
] as const
const CANDIDATES = [
  { candidates: 10, invocations: 5_000, peerInvocations: 500 },
  { candidates: 1_000, invocations: 100, peerInvocations: 20 },
  { candidates: 100_000, invocations: 10, peerInvocations: 5 },
] as const
const ROWS = 1_000_000
const GRID_POINTS = [121, 10_000, 1_000_000] as const
const CELLS = 1_000_000
const ONE_STEP_NANO = 1_000_000_000n
/** Large enough that the fixed cost of an invocation is negligible. */
const ENTRIES = 10_000

/** One row: the number of invocations of each library per round, and the units of work in an invocation. */
interface Comparison {
  readonly what: string
  readonly rounds: number
  readonly invocations: number
  /** Samples per invocation, if samples are measured. */
  readonly pieces: number
  readonly run: () => unknown
  readonly peer?: { readonly request: PeerRequest; readonly invocations: number; readonly pieces: number }
}

const source = systemEntropy()
const epsilonOne = epsilonNano(ONE_EPSILON_NANO)

/**
 * Compares Sotto's mechanisms with OpenDP's, in about a minute. They take turns, and a ratio compares two adjacent
 * turns, so that a slow moment affects both. Each does the work of a release, from numbers in memory to noisy
 * numbers. Only Sotto's median starts from a file. Both draw at the same scales and prices, and, except for the
 * median, from the same distributions.
 */
export async function openDpBenchmark(): Promise<OpenDpComparison> {
  const peer = await startPeer()
  if (typeof peer === 'string') return { skipped: peer }
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-opendp-'))
  try {
    const medians = await medianComparisons(folder)
    try {
      const comparisons = [
        ...SCALES.flatMap(sampleComparisons),
        ...CANDIDATES.flatMap(noisyMaxComparisons),
        ...medians.comparisons,
        histogramComparison(),
      ]
      return { versions: peer.versions, figures: await measure(comparisons, peer) }
    } finally {
      await medians.close()
    }
  } finally {
    await peer.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(comparisons: readonly Comparison[], peer: Peer): Promise<OpenDpFigure[]> {
  const times = comparisons.map((): { readonly sotto: number; readonly opendp: number | undefined }[] => [])
  for (const comparison of comparisons) {
    if (comparison.peer !== undefined) await peer.prepare(comparison.what, comparison.peer.request)
    // Warm-up for V8; OpenDP is compiled already.
    for (let round = 0; round < WARM_UP_ROUNDS; round += 1) await timeOurs(comparison)
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, comparison] of comparisons.entries()) {
      if (round >= comparison.rounds) continue
      // Every other round runs the libraries in reverse order.
      const first = round % 2 === 0 ? await timeOurs(comparison) : undefined
      const opendp = await timeTheirs(comparison, peer)
      const sotto = first ?? (await timeOurs(comparison))
      times[index]?.push({ sotto, opendp })
    }
  }
  return comparisons.map(({ what }, index) => {
    const rounds = times[index] ?? []
    const sottoNanoseconds = median(rounds.map(({ sotto }) => sotto))
    const theirs = rounds.flatMap(({ opendp }) => opendp ?? [])
    if (theirs.length === 0) return { what, sottoNanoseconds }
    const ratios = rounds.map(({ sotto, opendp }) => (opendp ?? Number.NaN) / sotto)
    return {
      what,
      sottoNanoseconds,
      opendpNanoseconds: median(theirs),
      ratio: { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) },
    }
  })
}

async function timeOurs({ run, invocations, pieces }: Comparison): Promise<number> {
  const start = process.hrtime.bigint()
  for (let invocation = 0; invocation < invocations; invocation += 1) {
    const pending = run()
    if (pending instanceof Promise) await pending
  }
  return Number(process.hrtime.bigint() - start) / invocations / pieces
}

async function timeTheirs({ what, peer: theirs }: Comparison, peer: Peer): Promise<number | undefined> {
  if (theirs === undefined) return undefined
  return (await peer.time(what, theirs.invocations)) / theirs.pieces
}

/** Noise on a vector: one sample per entry. */
function sampleComparisons({ scale, label }: (typeof SCALES)[number]): Comparison[] {
  const values = Array.from({ length: ENTRIES }, (_, entry) => BigInt(entry % 1_000))
  const ours = { rounds: ROUNDS, invocations: 10, pieces: ENTRIES }
  return (['laplace', 'gaussian'] as const).flatMap((distribution): Comparison[] => {
    const fractionBits = fractionBitsOf(scale)
    const sampleReals = () =>
      addNoise(measurementOf(distribution, scale, fractionBits), values, source).map(
        (value) => Number(value) / 2 ** fractionBits,
      )
    const peer = (entries: number, number: { readonly type: 'integer' | 'real'; readonly k?: number }) => ({
      request: { kind: 'noise', distribution, scale: Number(scale), entries, ...number } as const,
      invocations: 1,
      pieces: entries,
    })
    const name = `${distribution === 'laplace' ? 'Laplace' : 'Gaussian'}, scale ${label}`
    return [
      {
        ...ours,
        what: `discrete ${name}`,
        run: () => addNoise(measurementOf(distribution, scale, 0), values, source),
        peer: peer(ENTRIES, { type: 'integer' }),
      },
      {
        ...ours,
        what: `${name}, the same grid`,
        run: sampleReals,
        peer: peer(ENTRIES, { type: 'real', k: -fractionBits }),
      },
      {
        ...ours,
        what: `${name}, OpenDP's finest grid`,
        run: sampleReals,
        peer: peer(ENTRIES / 5, { type: 'real' }),
      },
    ]
  })
}

/** The grid of the Laplace and Gaussian mechanisms: the scale is at least 2^40 grid steps. */
function fractionBitsOf(scale: bigint): number {
  let fractionBits = 0
  while (scale << BigInt(fractionBits) < 1n << 40n) fractionBits += 1
  return fractionBits
}

/** Noise of a given scale, without calibration. */
function measurementOf(
  distribution: 'laplace' | 'gaussian',
  scale: bigint,
  fractionBits: number,
): Measurement {
  const inOutputUnits = scale << BigInt(fractionBits)
  return {
    mechanism: distribution,
    sensitivity: { l0: 1n, l1: 1n, l2Squared: 1n, lInfinity: 1n },
    fractionBits,
    noise:
      distribution === 'laplace'
        ? { kind: 'discrete-laplace', scale: rational(inOutputUnits, 1n) }
        : { kind: 'discrete-gaussian', sigma: inOutputUnits },
    loss: NO_LOSS,
  }
}

/** Best of counts at epsilon 1. OpenDP has no Laplace noise for it. */
function noisyMaxComparisons({
  candidates,
  invocations,
  peerInvocations,
}: (typeof CANDIDATES)[number]): Comparison[] {
  // Not sorted; one candidate in a thousand has the largest score.
  const scores = Array.from({ length: candidates }, (_, candidate) => (candidate * 7_919) % 1_000)
  const counts = scores.map(BigInt)
  return (['exponential', 'gumbel', 'laplace'] as const).map((noise) => {
    const setting = { candidates, k: 1, gap: false, noise, sensitivity: 1n, monotonic: true }
    const measurement = calibrateNoisyMax(setting, epsilonOne)
    const ours = {
      what: `noisy max of ${withCommas(candidates)}, ${noise} noise`,
      rounds: ROUNDS,
      invocations,
      pieces: 1,
      run: () => selectNoisyMax(measurement, counts, source),
    }
    if (noise === 'laplace') return ours
    const request = { kind: 'noisy-max', noise, scores } as const
    return { ...ours, peer: { request, invocations: peerInvocations, pieces: 1 } }
  })
}

/** Median of rows on a grid, and of their counts alone, at epsilon 1. */
async function medianComparisons(folder: string): Promise<{
  readonly comparisons: readonly Comparison[]
  readonly close: () => Promise<void>
}> {
  const uniform = seedrandom('sotto bench')
  const grids = GRID_POINTS.map((points) => ({
    column: `Grid${points}`,
    points,
    // The mean of three uniform numbers: most rows are near the median, and few near the ends.
    rows: Array.from({ length: ROWS }, () => Math.floor(((uniform() + uniform() + uniform()) / 3) * points)),
  }))
  const columns = grids.map(
    ({ column, points }): NumericColumn => ({
      name: column,
      type: 'integer',
      stepNano: ONE_STEP_NANO,
      lowerIndex: 0n,
      upperIndex: BigInt(points - 1),
      nullable: false,
      invalidValue: { kind: 'refuse' },
    }),
  )
  const dataset: Dataset = {
    id: 'bench',
    title: 'Rows to take the median of',
    version: '1',
    source: { kind: 'file', path: 'rows.parquet', format: 'parquet' },
    columns,
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    synthetic: true,
    accounting: 'basic',
    sharing: false,
    timing: 'off',
    failureLimit: 3,
    queryLimits: {},
  }
  const [sourcePath, targetPath] = [path.join(folder, 'rows.parquet'), path.join(folder, 'rows.duckdb')]
  await writeParquet(
    sourcePath,
    grids.map(({ column, rows }) => ({ name: column, type: 'INTEGER', values: rows })),
  )
  await ingest({ sourcePath, format: 'parquet', columns, privacyUnit: { kind: 'row' }, targetPath })
  const config = readConfig({})
  const engine = openDuckDbEngine({
    files: () => targetPath,
    connectionsPerDataset: config.queryConnections,
    threads: config.queryThreads,
    memoryLimit: config.queryMemory,
    queryTimeoutMs: config.queryTimeoutMs,
    temporaryDirectory: path.join(folder, 'temporary'),
  })
  await engine.open(dataset)

  const comparisons: Comparison[] = []
  for (const { column, points, rows } of grids) {
    const file = path.join(folder, `${column}.int32`)
    await writeFile(file, Int32Array.from(rows))
    const grid = { lowerIndex: 0n, upperIndex: BigInt(points - 1) }
    const score = percentileScore(1n, 2n)
    const counting = { column, of: 'rows', bounding: { kind: 'one-row-each' } } as const
    const setting = { score, sensitivity: stabilityOfRank(score, counting, dataset).sensitivity, ...grid }
    const measurement = calibrateQuantile(setting, epsilonOne)
    const counted = await engine.countIndexes(dataset, counting)
    comparisons.push(
      {
        what: `median of ${withCommas(ROWS)} rows, ${withCommas(points)} grid points`,
        rounds: points > 100_000 ? FEW_ROUNDS : ROUNDS,
        invocations: points > 100_000 ? 1 : 10,
        pieces: 1,
        run: async () => selectQuantile(measurement, await engine.countIndexes(dataset, counting), source),
        peer: {
          request: { kind: 'median', gridPoints: points, file },
          invocations: points > 100_000 ? 1 : 3,
          pieces: 1,
        },
      },
      {
        what: `  of which the choice among ${withCommas(counted.indexes.length)} counted values`,
        rounds: ROUNDS,
        invocations: Math.ceil(20_000 / counted.indexes.length),
        pieces: 1,
        run: () => selectQuantile(measurement, counted, source),
      },
    )
  }
  return { comparisons, close: () => engine.close() }
}

/** A count and its noise for each cell, at epsilon 1. */
function histogramComparison(): Comparison {
  const counts = Array.from({ length: CELLS }, (_, cell) => BigInt(cell % 1_000))
  const measurement = calibrateGeometric({ l0: 1n, l1: 1n, l2Squared: 1n, lInfinity: 1n }, epsilonOne)
  return {
    what: `histogram of ${withCommas(CELLS)} cells, discrete Laplace noise`,
    rounds: FEW_ROUNDS,
    invocations: 1,
    pieces: 1,
    run: () => addNoise(measurement, counts, source),
    peer: {
      request: { kind: 'noise', distribution: 'laplace', type: 'integer', scale: 1, entries: CELLS },
      invocations: 1,
      pieces: 1,
    },
  }
}

function withCommas(whole: number): string {
  return whole.toLocaleString('en')
}
