import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const START_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 20

/** A server under measurement, in its own process. */
export interface Child {
  readonly url: string
  /** Returns the processor time of all its threads so far, in milliseconds; NaN where there is no `/proc`. */
  processorMs(): number
  /** Sends a stop signal and waits until the process has ended. */
  stop(): Promise<void>
}

/** Program to start, and the form in which the server reports its address. */
export interface ChildCommand {
  readonly arguments: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /**
   * File that takes everything the process prints. A pipe would be read by this process, at the expense of the load.
   */
  readonly logFile: string
  /** Pattern that finds the URL, its first group, in the printed text. */
  readonly announcement: RegExp
}

/**
 * Starts a server with this Node and waits until it listens.
 * @throws Error if the server ends before it listens, or does not listen in time.
 */
export async function startChild(command: ChildCommand): Promise<Child> {
  const log = openSync(command.logFile, 'a')
  const child = spawn(process.execPath, command.arguments, {
    env: { PATH: process.env.PATH ?? '', ...command.environment },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const ended = once(child, 'exit')
  try {
    return {
      url: await announcedUrl(child, command),
      processorMs: () => processorMs(child.pid),
      stop: async () => {
        child.kill('SIGTERM')
        await ended
      },
    }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

/** Length of a clock tick of Linux. */
const TICK_MS = 10

function processorMs(pid: number | undefined): number {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return Number.NaN
  // The fields after the name, which may contain spaces: the state is field 3, the times in ticks are fields 14 and 15.
  const fields = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[14 - 3]) + Number(fields[15 - 3])) * TICK_MS
}

async function announcedUrl(child: ChildProcess, { logFile, announcement }: ChildCommand): Promise<string> {
  for (const startMs = performance.now(); performance.now() < startMs + START_WITHIN_MS; ) {
    const printed = readFileSync(logFile, 'utf8')
    const url = announcement.exec(printed)?.[1]
    if (url !== undefined) return url
    if (child.exitCode !== null) throw new Error(`a server ended at its start:\n${printed}`)
    await sleep(LOOK_EVERY_MS)
  }
  throw new Error('a server did not start in time')
}
