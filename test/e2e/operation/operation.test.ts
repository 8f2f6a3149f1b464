import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startTestService } from '../service.ts'

test('a nearly full disk makes the service report that it is not ready, while the process stays alive', async () => {
  const service = await startTestService({ SOTTO_MIN_FREE_DISK: '999999999GB' })
  try {
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503)
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
    await service.restart({ SOTTO_MIN_FREE_DISK: '0MB' })
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
  } finally {
    await service.close()
  }
})

// Without an end of its own the connection would keep the service from stopping, and the test would run out of time.
test('a connection that was opened in advance does not delay the stop', { timeout: 60_000 }, async () => {
  const service = await startTestService()
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  // The service has accepted the connection before it answers on a later one.
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
  await service.close()
  await closed
})
