import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const VERSION = '0.16.0'
const INSTALL_WITHIN_MS = 300_000

const root = path.resolve(import.meta.dirname, '..')
/** Out of version control, and kept for the next run. */
const environment = path.join(root, 'node_modules', '.cache', `opendp-${VERSION}`)
const python = path.join(environment, 'bin', 'python')

/** What OpenDP is to do; `bench/opendp-peer.py` does it. */
export type PeerRequest =
  | {
      readonly kind: 'noise'
      readonly law: 'laplace' | 'gaussian'
      readonly type: 'integer' | 'real'
      readonly scale: number
      /** The granularity of noise on real numbers is 2^k; the finest there is without it. */
      readonly k?: number
      readonly entries: number
    }
  | {
      readonly kind: 'noisy-max'
      readonly noise: 'exponential' | 'gumbel'
      readonly scores: readonly number[]
    }
  /** The file holds the rows: 32-bit integers, in this machine's order of bytes. */
  | { readonly kind: 'median'; readonly gridPoints: number; readonly file: string }

/** OpenDP in a Python process of its own, which works only while it is asked. */
export interface Peer {
  readonly versions: { readonly opendp: string; readonly numpy: string; readonly python: string }
  /** Everything but the invocation, ahead of time. */
  prepare(key: string, request: PeerRequest): Promise<void>
  /** Nanoseconds of an invocation, as the mean of so many in a row. */
  time(key: string, invocations: number): Promise<number>
  stop(): Promise<void>
}

/**
 * Start OpenDP, and before that install it from the package index, if it is not there yet.
 * @returns where that cannot be done here, why.
 */
export async function startPeer(): Promise<Peer | string> {
  const installed = await start().catch(() => undefined)
  if (installed !== undefined) return installed
  console.error(`Installing OpenDP ${VERSION} for Python, once.`)
  const run = promisify(execFile)
  const limits = { timeout: INSTALL_WITHIN_MS, maxBuffer: 2 ** 24 }
  try {
    await run('python3', ['-m', 'venv', '--clear', environment], limits)
    // Without a ready-made package for this machine it would be compiled, which is nothing to wait for.
    const only = ['--only-binary', ':all:', '--retries', '1', '--quiet', '--disable-pip-version-check']
    await run(python, ['-m', 'pip', 'install', ...only, `opendp==${VERSION}`, 'numpy'], limits)
    return await start()
  } catch (error) {
    return reasonOf(error)
  }
}

/** In one line. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const said = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : ''
  return (said === '' ? error.message : said).split('\n').at(-1) ?? error.message
}

/** @throws where it does not start. */
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
