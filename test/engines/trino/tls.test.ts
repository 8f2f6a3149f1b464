import { readFile } from 'node:fs/promises'
import type { ServerOptions } from 'node:https'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConnectionTls } from '../../../src/engines/tables/connection.ts'
import { openTrinoClient, TrinoFailure } from '../../../src/engines/trino/connection.ts'
import { answer, type FakeCoordinator, startFakeCoordinator } from './fake-coordinator.ts'

/** Self-signed certificates for 127.0.0.1, each of which is its own authority. */
const pem = (name: string) =>
  readFile(path.resolve(import.meta.dirname, '../../http/certificates', name), 'utf8')

let coordinator: FakeCoordinator
let [own, ownKey, other, otherKey] = ['', '', '', '']
beforeAll(async () => {
  own = await pem('first.crt')
  ownKey = await pem('first.key')
  other = await pem('second.crt')
  otherKey = await pem('second.key')
  coordinator = await start({})
})
afterAll(() => coordinator.close())

const start = (clients: ServerOptions) =>
  startFakeCoordinator(
    ({ headers }, response) =>
      answer(response, headers['x-trino-catalog'] === undefined ? { data: [[2]] } : firstPage(headers.host)),
    { cert: own, key: ownKey, ...clients },
  )

const firstPage = (host: string | undefined) => ({
  data: [[1]],
  nextUri: `https://${host}/v1/statement/next`,
})

async function run(tls: ConnectionTls, from = coordinator): Promise<readonly unknown[]> {
  const token = async () => 'secret'
  const client = openTrinoClient(from.connection({ tls, token }))
  const options = { signal: new AbortController().signal, timeoutMs: 60_000 }
  try {
    const pages: unknown[] = []
    for await (const page of client.run('SELECT 1', options)) pages.push(page)
    return pages
  } finally {
    client.close()
  }
}

test('a certificate of the given authority is accepted for every request of a statement', async () => {
  expect(await run({ ca: own })).toEqual([[[1]], [[2]]])
  expect(coordinator.received.map(({ method }) => method)).toEqual(['POST', 'GET'])
})

test.each([
  ['of another authority', () => ({ ca: other })],
  ['of no authority that Node trusts', () => ({})],
  ['with another name', () => ({ ca: own, servername: 'trino.example.org' })],
] as const)('a certificate %s is refused before anything is sent', async (_, tls) => {
  const before = coordinator.received.length
  await expect(run(tls())).rejects.toThrow(TrinoFailure)
  expect(coordinator.received).toHaveLength(before)
})

test('the certificate of the client is shown to a coordinator that requires one', async () => {
  const strict = await start({ ca: other, requestCert: true })
  try {
    expect(await run({ ca: own, cert: other, key: otherKey }, strict)).toEqual([[[1]], [[2]]])
    const before = strict.received.length
    await expect(run({ ca: own }, strict)).rejects.toThrow(TrinoFailure)
    await expect(run({ ca: own, cert: own, key: ownKey }, strict)).rejects.toThrow(TrinoFailure)
    expect(strict.received).toHaveLength(before)
  } finally {
    await strict.close()
  }
})
