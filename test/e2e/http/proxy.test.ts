import { afterEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../service.ts'

let service: TestService | undefined
afterEach(() => service?.close())

/** Sends requests with wrong keys and forwarded addresses, and returns their statuses. */
async function statuses(environment: Record<string, string>, forwarded: readonly string[]) {
  service = await startTestService({ ...environment, SOTTO_KEYLESS_REQUESTS_PER_MINUTE: '3' })
  const found: number[] = []
  for (const address of forwarded) {
    const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': address }
    found.push((await fetch(`${service.url}/v1/datasets`, { headers })).status)
  }
  return found
}

const DIFFERENT = ['198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4', '198.51.100.5']

test('a client cannot choose its address: forwarded addresses are ignored without a trusted proxy', async () => {
  expect(await statuses({}, DIFFERENT)).toEqual([401, 401, 401, 429, 429])
})

test('a proxy that is not trusted cannot choose addresses', async () => {
  const environment = { SOTTO_TRUST_PROXY: '192.0.2.7,10.0.0.0/8' }
  expect(await statuses(environment, DIFFERENT)).toEqual([401, 401, 401, 429, 429])
})

test('a trusted proxy forwards the addresses of its clients', async () => {
  const environment = { SOTTO_TRUST_PROXY: '127.0.0.0/8,::1' }
  expect(await statuses(environment, DIFFERENT)).toEqual([401, 401, 401, 401, 401])
})

test('behind a trusted proxy, a client cannot choose its address either', async () => {
  const forged = DIFFERENT.map((address) => `${address}, 203.0.113.9`)
  expect(await statuses({ SOTTO_TRUST_PROXY: '127.0.0.1' }, forged)).toEqual([401, 401, 401, 429, 429])
})
