import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { withFileLock } from '../../../src/platform/files/file-lock.ts'
import { temporaryFolder } from '../../folders.ts'

let folder = ''
beforeEach(() => {
  folder = temporaryFolder()
})

test('tasks of one process run one after the other', async () => {
  const file = path.join(folder, 'lock')
  let running = 0
  let most = 0
  const task = async () => {
    running += 1
    most = Math.max(most, running)
    await setTimeout(5)
    running -= 1
  }
  await Promise.all(Array.from({ length: 8 }, () => withFileLock(file, task)))
  expect(most).toBe(1)
})

test('the lock is free again after a task that failed', async () => {
  const file = path.join(folder, 'lock')
  await expect(withFileLock(file, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await withFileLock(file, async () => 'free')).toBe('free')
})

test('another process holds the lock until it is killed, and leaves no stale lock behind', async () => {
  const file = path.join(folder, 'lock')
  const module = path.resolve(import.meta.dirname, '../../../src/platform/files/file-lock.ts')
  const script = `import { withFileLock } from ${JSON.stringify(module)}
    await withFileLock(${JSON.stringify(file)}, () => new Promise(() => { console.log('held'); setInterval(() => {}, 1e6) }))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  await expect(withFileLock(file, async () => 'free', 50)).rejects.toThrow('another process')
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
  expect(await withFileLock(file, async () => 'free')).toBe('free')
})
