import { once } from 'node:events'
import { connect } from 'node:net'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
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

test('damage that the verification in the background finds makes the service report that it is not ready, for good', async () => {
  // Every ledger counts as long, and is verified from its checkpoint before the start ends.
  const service = await startTestService({}, { census: true, parts: { completeUpTo: 0 } })
  const ready = async () => {
    const response = await fetch(`${service.url}/readyz`)
    return { status: response.status, body: await response.json() }
  }
  const count = (age: number) => ({
    ...{ kind: 'count', epsilon: 0.1 },
    where: { column: 'Age', op: '<', value: age },
  })
  try {
    for (const age of [30, 40]) await service.ask('census', count(age)).expect(200)
    expect(await ready()).toMatchObject({ status: 200, body: { verification: 'complete' } })
    await service.stop()
    forge(path.join(service.dataDirectory, 'ledger.sqlite'))
    await service.restart()
    await expect.poll(ready).toMatchObject({
      status: 503,
      body: { status: 'not ready', verification: 'checkpoint' },
    })
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
    await service.ask('census', count(50)).expect(503)
    expect((await ready()).status).toBe(503)
  } finally {
    await service.close()
  }
})

/** Changes the first stored answer, as nobody can whose statements pass the triggers of the ledger. */
function forge(file: string): void {
  const database = new DatabaseSync(file)
  const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`)
  database.exec("UPDATE releases SET answer = 'forged' WHERE charge = (SELECT min(charge) FROM releases)")
  for (const { sql } of triggers) database.exec(String(sql))
  database.close()
}

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
