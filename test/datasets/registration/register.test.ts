import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { RegistryDependencies } from '../../../src/datasets/registration/context.ts'
import { createRegistry } from '../../../src/datasets/registration/registry.ts'

test('registrations run one at a time, and are refused once a hundred wait', async () => {
  const ends: (() => void)[] = []
  let running = 0
  let mostRunning = 0
  const refresh = async () => {
    running += 1
    mostRunning = Math.max(mostRunning, running)
    await new Promise<void>((resolve) => ends.push(resolve))
    running -= 1
  }
  const registry = createRegistry({ catalog: { refresh } } as unknown as RegistryDependencies)
  const accepted = Array.from({ length: 101 }, () => registry.refresh())
  await expect(registry.refresh()).rejects.toMatchObject({
    code: 'unavailable',
    facts: { retryAfterSeconds: 1 },
  })
  for (let ended = 0; ended < accepted.length; ended += 1) {
    await setImmediate()
    ends.shift()?.()
  }
  await Promise.all(accepted)
  expect(mostRunning).toBe(1)
})
