import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const VERSION = '0.16.0'
const INSTALL_WITHIN_MS = 300_000

const root = path.resolve(import.meta.dirname, '..')
/** Cache folder outside version control, kept for the next run. */
const environment = path.join(root, 'node_modules', '.cache', `opendp-${VERSION}`)
const python = path.join(environment, 'bin', 'python')

/** A task for OpenDP; `bench/opendp-peer.py` executes it. */
export type PeerRequest =
  | {
      readonly kind: 'noise'
      readonly distribution: 'laplace' | 'gaussian'
      readonly type: 'integer' | 'real'
      readonly scale: number
      /** The granularity of noise on real numbers is 2^k; if omitted, OpenDP's finest grid. */
      readonly k?: number
      readonly entries: number
    }
  | {
      readonly kind: 'noisy-max'
      readonly noise: 'exponential' | 'gumbel'
      readonly scores: readonly number[]
    }
  /** The file contains the rows as 32-bit integers in native byte order. */
  | { readonly kind: 'median'; readonly gridPoints: number; readonly file: string }

/** OpenDP in a Python process, which is idle between requests. */
export interface Peer {
  readonly versions: { readonly opendp: string; readonly numpy: string; readonly python: string }
  /** Prepares everything except the invocation. */
  prepare(key: string, request: PeerRequest): Promise<void>
  /** Nanoseconds of an invocation, as the mean of several in a row. */
  time(key: string, invocations: number): Promise<number>
  stop(): Promise<void>
}

/**
 * Starts OpenDP. Installs it from the package index first if necessary.
 * @returns the reason if OpenDP cannot be installed or started.
 */
export async function startPeer(): Promise<Peer | string> {
  const installed = await start().catch(() => undefined)
  if (installed !== undefined) return installed
  console.error(`Installing OpenDP ${VERSION} for Python, once.`)
  const run = promisify(execFile)
  const limits = { timeout: INSTALL_WITHIN_MS, maxBuffer: 2 ** 24 }
  try {
    await run('python3', ['-m', 'venv', '--clear', environment], limits)
    // Without a prebuilt package for this machine, pip would compile it, which takes too long.
    const only = ['--only-binary', ':all:', '--retries', '1', '--quiet', '--disable-pip-version-check']
    await run(python, ['-m', 'pip', 'install', ...only, `opendp==${VERSION}`, 'numpy'], limits)
    return await start()
  } catch (error) {
    return reasonOf(error)
  }
}

/** Message in one line. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const said = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : ''
  return (said === '' ? error.message : said).split('\n').at(-1) ?? error.message
}

/** @throws Error if the process does not start. */
async function start(): Promise<Peer> {
  const child = spawn(python, [path.join(root, 'bench', 'opendp-peer.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child, 'spawn')
  const ended = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the Python process ended')
    return JSON.parse(value)
  }
  const ask = async (request: object): Promise<number> => {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    const { nanoseconds } = (await next()) as { readonly nanoseconds: number }
    return nanoseconds
  }
  return {
    versions: (await next()) as Peer['versions'],
    prepare: async (key, request) => {
      await ask({ key, ...request, invocations: 0 })
    },
    time: (key, invocations) => ask({ key, invocations }),
    stop: async () => {
      child.stdin.end()
      await ended
    },
  }
}
