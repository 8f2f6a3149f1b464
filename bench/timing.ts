import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createKey } from '../test/api-key.ts'
import { type Child, startChild } from './child.ts'

/** Accuracy with which the time of an answer reveals whether one person is in the data. */
export interface TimingFigure {
  readonly timing: TimingName
  readonly query: string
  /** Number of answers over each of the two datasets. */
  readonly repeats: number
  /** Probability that an answer with the person takes longer than one without; 0.5 if the time tells nothing. */
  readonly auc: number
  /** Standard error of `auc` if the time tells nothing. */
  readonly standardError: number
  /** The same for the medians of every {@link BLOCK} answers, as an analyst who repeats a question sees them. */
  readonly aucOfBlocks: number
  readonly standardErrorOfBlocks: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Largest AUC that is as good as none. */
export const TIMING_GOAL = 0.53

const TIMINGS = { off: 'off', slots: { slotMs: 50 }, strict: { deadlineMs: 100 } } as const
export type TimingName = keyof typeof TIMINGS

const DEFAULT_REPEATS = 400
/** Answers whose median an analyst compares. */
export const BLOCK = 40
const WARM_UP = 20
/** Rows of the person by whom the two datasets differ. */
const ROWS_OF_PERSON = 100

const QUERIES: Readonly<Record<string, object>> = {
  keySelection: { kind: 'keySelection', column: 'Diagnosis', epsilon: 0.01, delta: 1e-9 },
  median: { kind: 'median', column: 'Cost', epsilon: 0.01 },
  contingency: { kind: 'contingency', columns: ['Region', 'Sex'], epsilon: 0.01 },
  noisyMax: { kind: 'noisyMax', candidates: { column: 'Region' }, epsilon: 0.01 },
  count: { kind: 'count', where: { column: 'Cost', op: '>=', value: 99_999 }, epsilon: 0.01 },
}

const COLUMNS = [
  { name: 'Patient', type: 'identifier' },
  { name: 'Diagnosis', type: 'string', selectable: true },
  { name: 'Cost', type: 'integer', lower: 0, upper: 100_000 },
  { name: 'Region', type: 'category', categories: ['N', 'E', 'S', 'W'] },
  { name: 'Sex', type: 'category', categories: ['F', 'M'] },
]

const root = path.resolve(import.meta.dirname, '..')

/**
 * Measures the time of answers over two datasets that differ in one person, with timing off, slots of 50 ms and a deadline
 * of 100 ms. The queries over the two are interleaved at random, one at a time, and each is new. Takes about 12 minutes
 * with 400 repeats. Other load on the machine hides differences, so it should be idle.
 * @throws Error if a request fails.
 */
export async function timingBenchmark(repeats = DEFAULT_REPEATS): Promise<readonly TimingFigure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'sotto-bench-timing-'))
  let sotto: Child | undefined
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    const dataDirectory = path.join(folder, 'data')
    const custodian = await createKey(dataDirectory, { name: 'custodian', role: 'custodian' })
    const analyst = await createKey(dataDirectory, { name: 'analyst', role: 'analyst' })
    sotto = await startChild({
      arguments: [path.join(root, 'src/server.ts')],
      environment: {
        SOTTO_PORT: '0',
        SOTTO_DATA_DIR: dataDirectory,
        SOTTO_DEMO: 'false',
        SOTTO_REQUESTS_PER_MINUTE: '1000000',
        SOTTO_REQUEST_BURST: '1000000',
      },
      logFile: path.join(folder, 'sotto.log'),
      announcement: /Sotto answers at (\S+)\./,
    })
    const { url } = sotto
    const figures: TimingFigure[] = []
    for (const timing of Object.keys(TIMINGS) as TimingName[]) {
      await registerPair(dataDirectory, `${url}/v1/datasets`, custodian, timing)
      for (const [query, body] of Object.entries(QUERIES)) {
        const ask = (withPerson: boolean) =>
          timedPost(agent, `${url}/v1/datasets/${datasetId(timing, withPerson)}/queries`, analyst, body)
        figures.push(await figure(timing, query, repeats, ask))
      }
    }
    return figures
  } finally {
    agent.destroy()
    await sotto?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function datasetId(timing: TimingName, withPerson: boolean): string {
  return `${withPerson ? 'with' : 'without'}-${timing}`
}

/**
 * Registers two datasets that differ in one person. Every two diagnoses have the same number of patients, and the person
 * has one diagnosis of each pair. So with the person there are twice as many different numbers of patients, and selecting
 * diagnoses computes twice as many probabilities.
 */
async function registerPair(
  dataDirectory: string,
  url: string,
  key: string,
  timing: TimingName,
): Promise<void> {
  const rows: string[] = []
  for (let diagnosis = 0; diagnosis < 2 * ROWS_OF_PERSON; diagnosis += 1) {
    const patients = 20 + 2 * Math.floor(diagnosis / 2)
    for (let patient = 0; patient < patients; patient += 1) rows.push(rowOf(rows.length, diagnosis))
  }
  const person = Array.from({ length: ROWS_OF_PERSON }, (_, pair) => rowOf(1_000_000, 2 * pair))
  for (const withPerson of [false, true]) {
    const id = datasetId(timing, withPerson)
    const lines = withPerson ? [...rows, ...person] : rows
    await writeFile(
      path.join(dataDirectory, `${id}.csv`),
      ['Patient,Diagnosis,Cost,Region,Sex', ...lines, ''].join('\n'),
    )
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        id,
        title: 'Patients',
        source: { kind: 'file', path: `${id}.csv`, format: 'csv' },
        columns: COLUMNS,
        privacyUnit: { kind: 'person', column: 'Patient', maxRows: ROWS_OF_PERSON },
        neighbours: 'add-remove',
        budget: { epsilon: 100_000, delta: 0.01 },
        timing: TIMINGS[timing],
        ...(timing === 'off' ? {} : { separateBudget: 'The same rows under another timing.' }),
      }),
    })
    if (!response.ok) throw new Error(`the registration of ${id}: ${await response.text()}`)
  }
}

function rowOf(patient: number, diagnosis: number): string {
  const region = 'NESW'[patient % 4]
  const sex = 'FM'[patient % 2]
  return `p${patient},diagnosis ${diagnosis},${(patient * 7) % 50_000},${region},${sex}`
}

async function figure(
  timing: TimingName,
  query: string,
  repeats: number,
  ask: (withPerson: boolean) => Promise<number>,
): Promise<TimingFigure> {
  for (let repeat = 0; repeat < WARM_UP; repeat += 1) await ask(repeat % 2 === 0)
  const tookMs: Record<'with' | 'without', number[]> = { with: [], without: [] }
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    // Each pair in a random order, so that neither drift nor the preceding query tells them apart.
    const first = Math.random() < 0.5
    for (const withPerson of [first, !first])
      tookMs[withPerson ? 'with' : 'without'].push(await ask(withPerson))
  }
  const sorted = [...tookMs.with, ...tookMs.without].toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return {
    timing,
    query,
    repeats,
    auc: areaUnderCurve(tookMs.without, tookMs.with),
    standardError: standardErrorOf(repeats),
    aucOfBlocks: areaUnderCurve(mediansOfBlocks(tookMs.without), mediansOfBlocks(tookMs.with)),
    standardErrorOfBlocks: standardErrorOf(Math.floor(repeats / BLOCK)),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

/** Probability that a value of `higher` is larger than one of `lower`; equal ones count half (Mann and Whitney 1947). */
function areaUnderCurve(lower: readonly number[], higher: readonly number[]): number {
  let wins = 0
  for (const a of lower) for (const b of higher) wins += b > a ? 1 : b === a ? 0.5 : 0
  return wins / (lower.length * higher.length)
}

/** Standard error of the area for two equal distributions with this many values each. */
function standardErrorOf(values: number): number {
  return Math.sqrt((2 * values + 1) / (12 * values * values))
}

function mediansOfBlocks(values: readonly number[]): readonly number[] {
  const medianOf = (block: number) =>
    values.slice(block * BLOCK, (block + 1) * BLOCK).toSorted((a, b) => a - b)[BLOCK >> 1] ?? Number.NaN
  return Array.from({ length: Math.floor(values.length / BLOCK) }, (_, block) => medianOf(block))
}

/** Sends a query with a new key and returns the milliseconds until its whole answer arrived. */
async function timedPost(agent: Agent, url: string, key: string, query: object): Promise<number> {
  const body = JSON.stringify(query)
  const sentMs = performance.now()
  const sent = request(url, {
    agent,
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'idempotency-key': randomUUID(),
    },
  })
  sent.setNoDelay(true)
  sent.end(body)
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const part of response) text += part
  const tookMs = performance.now() - sentMs
  if (response.statusCode !== 200)
    throw new Error(`a query was answered with ${response.statusCode}: ${text}`)
  return tookMs
}
