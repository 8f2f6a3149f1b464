import { expect, test } from 'vitest'
import { startTestService } from './service.ts'

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
