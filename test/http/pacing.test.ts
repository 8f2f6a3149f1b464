import { expect, test } from 'vitest'
import { hasLargeBody } from '../../src/http/pacing.ts'

test.each([
  [{ 'content-length': '4096' }, false],
  [{ 'content-length': '4097' }, true],
  [{}, false],
  [{ 'transfer-encoding': 'chunked' }, true],
])('the body of a request with %o is large: %s', (headers, isLarge) => {
  expect(hasLargeBody(headers)).toBe(isLarge)
})
