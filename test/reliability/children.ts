import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { ENVIRONMENT } from '../environment.ts'
import type { ChargingOptions } from './questions.ts'

const SCRIPT = new URL('./charging.ts', import.meta.url).pathname

/** A charging process. */
export interface Charging {
  readonly child: ChildProcess
  /** Its output so far. */
  readonly lines: readonly string[]
  /** Resolves once it has written this many lines, or has ended. */
  said(count: number): Promise<void>
  /** Resolves once it writes a matching line, or has ended. */
  saidLike(pattern: RegExp): Promise<void>
  /** Resolves once it has ended and all its output was read. */
  readonly ended: Promise<void>
}

export interface ChargingStart extends Partial<ChargingOptions> {
  /** The ledger's URL. */
  readonly url: string
  readonly dataset: string
  readonly run: string
  /** Command that starts the process, such as a tracer. */
  readonly under?: readonly string[]
}

/** Starts `charging.ts` as a separate process, which ends with the test at the latest. */
export function startCharging({ url, under = [], ...options }: ChargingStart): Charging {
  const all: ChargingOptions = {
    questions: 1_000_000,
    capacity: 1_000_000,
    population: false,
    lanes: 8,
    leaseMs: 60_000,
    persistent: false,
    answerLength: 32,
    changes: [],
    ...options,
  }
  const [command = '', ...args] = [...under, process.execPath, SCRIPT, url, JSON.stringify(all)]
  // A tracer counts system calls, of which reading what Node compiled would add some.
  const env = under.length === 0 ? ENVIRONMENT : {}
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  let over = false
  const notify = () => {
    for (const look of waiting) look()
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    notify()
  })
  let errorOutput = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errorOutput += chunk.toString()
  })
  const ended = once(child, 'close').then(() => {
    over = true
    notify()
    if (child.exitCode !== 0 && child.signalCode === null && under.length === 0)
      throw new Error(`a charging process ended with ${child.exitCode}: ${errorOutput}`)
  })
  // A caller that waits gets the rejection; nothing has to wait.
  ended.catch(() => undefined)
  const until = (met: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!over && !met()) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return {
    child,
    lines,
    said: (count) => until(() => lines.length >= count),
    saidLike(pattern) {
      let read = 0
      return until(() => {
        while (read < lines.length) if (pattern.test(lines[read++] ?? '')) return true
        return false
      })
    },
    ended,
  }
}

/** Messages that the owner of one key received. */
export interface Messages {
  charged: boolean
  denied: boolean
  /** Every answer that was about to be stored. */
  readonly computed: Set<string>
  /** The answer that was acknowledged, or replayed. */
  answer?: string
}

/**
 * Collects the output of charging processes by key.
 * @throws Error if one key was answered in two ways, or answered and denied.
 */
export function messagesByKey(lines: Iterable<string>): Map<string, Messages> {
  const heard = new Map<string, Messages>()
  for (const line of lines) {
    const [what, key = '', answer = ''] = line.split(' ')
    if (what === 'open' || what === 'ended' || what === 'fault') continue
    let each = heard.get(key)
    if (each === undefined) {
      each = { charged: false, denied: false, computed: new Set() }
      heard.set(key, each)
    }
    if (what === 'charged') each.charged = true
    if (what === 'denied') each.denied = true
    if (what === 'computed') each.computed.add(answer)
    if (what === 'answered' || what === 'replayed') {
      if (each.answer !== undefined && each.answer !== answer) throw new Error(`${key} has two answers`)
      each.answer = answer
    }
    if (each.denied && (each.charged || each.answer !== undefined))
      throw new Error(`${key} is paid for and denied`)
  }
  return heard
}

/** The faults that charging processes reported. */
export function faultsOf(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => line.startsWith('fault '))
}
