import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/*
 * Loaded into a service before its own modules, by `node --import`: kills the process at a named call of the file system.
 */

/** A call of the file system at which a process is killed. */
export interface KillAt {
  readonly call: 'mkdir' | 'mkdtemp' | 'rename' | 'symlink'
  readonly when: 'before' | 'after'
  /** Regular expression for the path that the call creates. */
  readonly created: string
}

/** Returns the environment of a process that is killed at a call. */
export function killedAt(kill: KillAt): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=${import.meta.filename}`, KILL_AT: JSON.stringify(kill) }
}

if (process.env.KILL_AT !== undefined) {
  const { call, when, created }: KillAt = JSON.parse(process.env.KILL_AT)
  const pattern = new RegExp(created)
  const original = promises[call] as (...args: unknown[]) => Promise<unknown>
  Reflect.set(promises, call, async (...args: unknown[]) => {
    const isCreated = pattern.test(String(call.startsWith('mk') ? args[0] : args[1]))
    if (isCreated && when === 'before') process.kill(process.pid, 'SIGKILL')
    const result = await original(...args)
    if (isCreated) process.kill(process.pid, 'SIGKILL')
    return result
  })
  syncBuiltinESMExports()
}
