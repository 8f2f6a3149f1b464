import { setTimeout } from 'node:timers/promises'
import type { ServiceClient, ServiceOptions } from '../service.ts'

/** The progress of long work, shown on standard error while that is a terminal. */
export interface Progress {
  /** @param done the part that is done, in the unit of the total */
  advance(done: number): void
  /** Removes the line. */
  end(): void
}

/** The part of a stream that a line of progress needs. */
export interface Terminal {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const BAR_WIDTH = 30
const REDRAW_MS = 100
/** Time between two requests for the progress of an ingestion. */
const POLL_MS = 1_000

/**
 * Shows the progress of work: as a bar if its number of bytes is known, otherwise as the time that it has taken.
 */
export function showProgress(label: string, totalBytes?: number): Progress {
  const elapsed = elapsedSince(performance.now())
  let doneBytes = 0
  const state = () => (totalBytes === undefined ? elapsed() : bytesBar(doneBytes, totalBytes))
  return {
    advance: (done) => {
      doneBytes = done
    },
    end: showLine(() => `${label} ${state()}`),
  }
}

/** Runs work and shows the time that it has taken. */
export async function showingTime<Result>(label: string, work: () => Promise<Result>): Promise<Result> {
  const progress = showProgress(label)
  try {
    return await work()
  } finally {
    progress.end()
  }
}

/**
 * Sends a request that ingests a source, and shows the progress of the ingestion: the phase, with a bar where the service
 * knows the part that is done. Shows nothing with `--json`.
 *
 * @param dataset id of the dataset whose ingestion is shown
 * @param send sends the request
 */
export async function showingIngestion<Result>(
  client: Pick<ServiceClient, 'ingestions'>,
  dataset: unknown,
  { json = false }: Pick<ServiceOptions, 'json'>,
  send: () => Promise<Result>,
  terminal: Terminal = process.stderr,
): Promise<Result> {
  if (json || !terminal.isTTY) return send()
  const elapsed = elapsedSince(performance.now())
  let state = 'Sending the request'
  const endLine = showLine(() => `${state} ${elapsed()}`, terminal)
  const ended = new AbortController()
  void pollUntil(ended.signal, async () => {
    state = (await ingestionState(client, dataset)) ?? state
  })
  try {
    return await send()
  } finally {
    ended.abort()
    endLine()
  }
}

/** Repeats a task until a signal is aborted. A failure of the task has no effect. */
async function pollUntil(signal: AbortSignal, task: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await task().catch(() => undefined)
    await setTimeout(POLL_MS, undefined, { signal }).catch(() => undefined)
  }
}

const PHASES = {
  wait: 'Waiting for other ingestions',
  copy: 'Copying the source',
  check: 'Checking the source',
  read: 'Reading the values',
  store: 'Storing the rows',
}

/** Describes the newest ingestion of a dataset; `undefined` if the service lists none. */
async function ingestionState(
  client: Pick<ServiceClient, 'ingestions'>,
  dataset: unknown,
): Promise<string | undefined> {
  const { ingestions } = await client.ingestions()
  const ingestion = ingestions.find((each) => each.dataset === dataset)
  if (ingestion === undefined) return undefined
  const { phase, fraction } = ingestion
  return fraction === undefined ? PHASES[phase] : `${PHASES[phase]} ${bar(fraction)}`
}

/**
 * Shows a line and redraws it, if the stream is a terminal.
 * @returns a function that removes the line
 */
function showLine(line: () => string, terminal: Terminal = process.stderr): () => void {
  if (!terminal.isTTY) return () => undefined
  const draw = () => terminal.write(`\r${line()}\u001b[K`)
  const timer = setInterval(draw, REDRAW_MS)
  draw()
  return () => {
    clearInterval(timer)
    terminal.write('\r\u001b[K')
  }
}

function elapsedSince(startedMs: number): () => string {
  return () => `${Math.floor((performance.now() - startedMs) / 1_000)} s`
}

function bytesBar(done: number, total: number): string {
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1)
  return `${bar(total === 0 ? 1 : done / total)}  ${megabytes(done)} of ${megabytes(total)} MB`
}

function bar(fraction: number): string {
  const part = Math.min(1, fraction)
  const filled = Math.round(part * BAR_WIDTH)
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${Math.floor(part * 100)}%`
}
