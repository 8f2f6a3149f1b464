import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createPace, hasLargeBody } from '../../src/http/pacing.ts'

test('a principal begins one large request in each turn of the event loop, and holds up nobody else', async () => {
  const pace = createPace()
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
  expect(turn - before).toBeLessThanOrEqual(2)
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

test.each([
  [{ 'content-length': '4096' }, false],
  [{ 'content-length': '4097' }, true],
  [{}, false],
  [{ 'transfer-encoding': 'chunked' }, true],
])('the body of a request with %o is large: %s', (headers, isLarge) => {
  expect(hasLargeBody(headers)).toBe(isLarge)
})
