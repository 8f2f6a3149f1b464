import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { ENVIRONMENT } from '../environment.ts'

/** The service in a separate process, started as `npm start` does. */
export interface ServiceProcess {
  readonly child: ChildProcess
  readonly url: string
  /** Output so far. */
  output(): string
  /** Sends a signal and waits for the end; resolves to the exit code, or null after a killing signal. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

/** Limits that benchmarks, and tests of other subjects, do not reach. */
export const WITHOUT_LIMITS = {
  SOTTO_REQUESTS_PER_MINUTE: '100000000',
  SOTTO_REQUEST_BURST: '100000000',
  SOTTO_CONCURRENT_REQUESTS: '10000',
  SOTTO_STORED_BYTES: '1000000000000',
  SOTTO_KEYLESS_REQUESTS_PER_MINUTE: '100000000',
}

const serverFile = path.resolve(import.meta.dirname, '../../src/server.ts')

/**
 * Starts `src/server.ts`, or another command in a folder of its own, and waits for its welcome. Rejects with its output if it
 * ends before.
 */
export async function startServiceProcess(
  environment: Record<string, string>,
  {
    command = [process.execPath, serverFile],
    cwd,
  }: { command?: readonly [string, ...string[]]; cwd?: string } = {},
): Promise<ServiceProcess> {
  const [program, ...args] = command
  const child = spawn(program, args, {
    cwd,
    env: {
      ...ENVIRONMENT,
      SOTTO_PORT: '0',
      SOTTO_DRAIN_MS: '0',
      ...WITHOUT_LIMITS,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      printed += chunk.toString()
      const found = /Sotto answers at (\S+)\.\s/.exec(printed)?.[1]
      if (found !== undefined && printed.includes('Swagger UI:')) resolve(found)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('close', (code) => reject(new Error(`ended with code ${code}: ${printed}`)))
  })
  return {
    child,
    url,
    output: () => printed,
    async stop(signal) {
      const ended = once(child, 'close')
      child.kill(signal)
      const [code] = await ended
      return code as number | null
    },
  }
}
