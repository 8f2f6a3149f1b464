import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { pace } from '../../../src/platform/concurrency/pace.ts'

test('a principal begins one piece of work in each turn of the event loop, and holds up nobody else', async () => {
  let turn = 0
  let isOver = false
  const counting = (async () => {
    while (!isOver) {
      await setImmediate()
      turn += 1
    }
  })()
  const begun: number[] = []
  const flood = Array.from({ length: 64 }, () => pace('flooding').then(() => begun.push(turn)))
  await flood[0]
  const before = turn
  await pace('quiet')
  expect(turn - before).toBeLessThanOrEqual(1)
  expect(begun.length).toBeLessThanOrEqual(4)
  await Promise.all(flood)
  isOver = true
  await counting
  expect(new Set(begun).size).toBe(64)
  // What was waited for is forgotten: the next one does not wait longer than the first did.
  const later = turn
  await pace('flooding')
  expect(turn - later).toBeLessThanOrEqual(1)
})

test('after a long piece of work, the principal leaves as much time to others', async () => {
  const startMs = performance.now()
  const pieces: number[] = []
  const work = async () => {
    await pace('flooding')
    const beganMs = performance.now()
    while (performance.now() < beganMs + 10);
    pieces.push(performance.now() - beganMs)
  }
  await Promise.all(Array.from({ length: 5 }, work))
  const tookMs = performance.now() - startMs
  const sum = (times: readonly number[]) => times.reduce((total, ms) => total + ms, 0)
  // Nothing follows the last piece, which may be as long as it likes on a busy machine.
  const followed = pieces.slice(0, -1)
  expect(tookMs - sum(pieces)).toBeGreaterThanOrEqual(0.8 * sum(followed))
})
