import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { watchFreeSpace } from '../../../src/platform/files/free-space.ts'

test('the fullest volume decides, and nothing may be written to /proc', async () => {
  expect(await watchFreeSpace([tmpdir()], 1).isSufficient()).toBe(true)
  expect(await watchFreeSpace([tmpdir(), '/proc'], 1).bytes()).toBe(0)
  expect(await watchFreeSpace([tmpdir(), '/proc'], 1).isSufficient()).toBe(false)
})
