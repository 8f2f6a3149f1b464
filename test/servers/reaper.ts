import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'

/**
 * Starts a shell script that outlives this process. Its input is the ids of processes, a line for each change, and ends
 * when this process ends, however it does. The script then ends the processes of the last line and removes the folder.
 */
export function startReaper(script: string, folder: string) {
  const child = spawn('/bin/sh', ['-c', script, 'sh', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  // Neither keeps this process alive, because the reaper waits for its end.
  child.unref()
  const input = child.stdin as Socket
  input.unref()
  return {
    /** Tells the reaper which processes to end; the last message takes effect. */
    watch: (pids: readonly number[]) => input.write(`${pids.join(' ')}\n`),
    async end(): Promise<void> {
      if (child.exitCode !== null) return
      child.ref()
      const ended = once(child, 'exit')
      input.end()
      await ended
    },
  }
}
