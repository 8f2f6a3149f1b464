import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installed } from '../../installed.ts'
import { type ServiceProcess, startServiceProcess } from '../process.ts'

const run = promisify(execFile)

let directory = ''
let service: ServiceProcess
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-first-'))
  service = await startServiceProcess({ SOTTO_DATA_DIR: directory, SOTTO_DRAIN_MS: '50' })
})
afterAll(async () => {
  service.child.kill('SIGKILL')
  await rm(directory, { recursive: true })
})

test('the first start writes two keys for the owner alone, and prints neither', async () => {
  for (const role of ['analyst', 'custodian']) {
    const file = path.join(directory, `${role}.key`)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(service.output()).not.toContain((await readFile(file, 'utf8')).trim())
  }
})

test('Swagger UI is at the printed address', async () => {
  const address = /Swagger UI: (\S+)/.exec(service.output())?.[1] ?? ''
  const response = await fetch(address)
  expect(response.status).toBe(200)
  expect(await response.text()).toContain('swagger-ui')
})

test('the console is at the printed address, with the files of the keys', async () => {
  const [, address = '', file = ''] =
    /Console: (\S+) \(sign in with the key in (\S+),/.exec(service.output()) ?? []
  const response = await fetch(address)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^text\/html/)
  expect(path.resolve(file)).toBe(path.join(directory, 'analyst.key'))
})

test.skipIf(!installed('curl'))('the printed command works when it is pasted into a shell', async () => {
  const line = service
    .output()
    .split('\n')
    .find((text) => text.trimStart().startsWith('curl '))
  const { stdout } = await run('sh', ['-c', line ?? 'exit 1'])
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'count', dataset: 'census', cost: { epsilon: 0.1 } })
})

test('a second process on the same data folder fails, and the first continues', async () => {
  await expect(startServiceProcess({ SOTTO_DATA_DIR: directory })).rejects.toThrow(
    /ended with code 1.*SOTTO_LEDGER_URL: another process/s,
  )
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
})

test('a wrong variable stops the start with its name and the rule', async () => {
  await expect(startServiceProcess({ SOTTO_DATA_DIR: directory, SOTTO_PORT: 'eighty' })).rejects.toThrow(
    /ended with code 1: SOTTO_PORT: must be a whole number/,
  )
})

test('a port in use, or an address of another machine, stops the start with the name of its variable', async () => {
  const { host, port } = new URL(service.url)
  const other = path.join(directory, 'other')
  await expect(startServiceProcess({ SOTTO_DATA_DIR: other, SOTTO_PORT: port })).rejects.toThrow(
    `SOTTO_PORT: port ${port} of ${host.split(':')[0]} is in use`,
  )
  await expect(startServiceProcess({ SOTTO_DATA_DIR: other, SOTTO_METRICS_PORT: port })).rejects.toThrow(
    `SOTTO_METRICS_PORT: port ${port}`,
  )
  await expect(startServiceProcess({ SOTTO_DATA_DIR: other, SOTTO_HOST: '192.0.2.1' })).rejects.toThrow(
    'SOTTO_HOST: 192.0.2.1 is not an address of this machine',
  )
})

test('a database that cannot be reached stops the start with the name of its variable', async () => {
  const url = 'postgres://nobody@127.0.0.1:1/nothing'
  await expect(
    startServiceProcess({ SOTTO_DATA_DIR: path.join(directory, 'other'), SOTTO_LEDGER_URL: url }),
  ).rejects.toThrow('SOTTO_LEDGER_URL: the ledger cannot be opened')
})

test('a data folder that cannot be created stops the start with the name of its variable and the rule', async () => {
  await expect(startServiceProcess({ SOTTO_DATA_DIR: '/proc/x' })).rejects.toThrow(
    /ended with code 1: SOTTO_DATA_DIR: must be a folder that can be created and written to \(ENOENT\)/,
  )
})

test('SIGTERM finishes open requests, closes the ledger and ends with code 0', async () => {
  const key = (await readFile(path.join(directory, 'analyst.key'), 'utf8')).trim()
  const answers = Array.from({ length: 8 }, (_, index) =>
    fetch(`${service.url}/v1/datasets/census/queries`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': `last-${index}`,
      },
      body: JSON.stringify({ kind: 'contingency', columns: ['Occupation', 'Sex', 'Married'], epsilon: 0.1 }),
    }).then(async (response) => ({ status: response.status, body: await response.json() })),
  )
  const settled = Promise.allSettled(answers)
  expect((await Promise.race(answers)).status).toBe(200)
  expect(await service.stop('SIGTERM')).toBe(0)
  for (const outcome of await settled) {
    // Each request is answered completely, refused with a problem, or not accepted.
    if (outcome.status === 'fulfilled') expect([200, 503]).toContain(outcome.value.status)
  }
  expect(await readdir(directory)).not.toContain('ledger.sqlite-wal')
})

/** A request whose body is complete only once `finish` is called, which resolves with the status of its answer. */
async function openRequest(url: string): Promise<() => Promise<number | undefined>> {
  const body = JSON.stringify({ kind: 'count', epsilon: 0.1 })
  const key = (await readFile(path.join(directory, 'analyst.key'), 'utf8')).trim()
  const asked = request(`${url}/v1/datasets/census/queries`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      'content-length': body.length,
    },
  })
  const answered = once(asked, 'response') as Promise<[IncomingMessage]>
  asked.write(body.slice(0, 10))
  // The service has read the first part before it answers this.
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  return async () => {
    asked.end(body.slice(10))
    const [response] = await answered
    return response.resume().statusCode
  }
}

test.each([
  ['SIGINT', 'SIGINT'],
  ['SIGTERM', 'SIGTERM'],
  ['SIGINT', 'SIGTERM'],
] as const)('%s and then %s within a second are one request to stop', async (first, second) => {
  const draining = await startServiceProcess({ SOTTO_DATA_DIR: directory, SOTTO_DRAIN_MS: '500' })
  const finish = await openRequest(draining.url)
  const ended = draining.stop(first)
  draining.child.kill(second)
  while (!draining.output().includes('"msg":"stopping"')) await sleep(5)
  draining.child.kill(second)
  expect((await fetch(`${draining.url}/healthz`)).status).toBe(200)
  expect(await finish()).toBe(200)
  expect(await ended).toBe(0)
})

test('a later signal ends the service at once', async () => {
  const draining = await startServiceProcess({ SOTTO_DATA_DIR: directory, SOTTO_DRAIN_MS: '600000' })
  const ended = draining.stop('SIGTERM')
  const again = setInterval(() => draining.child.kill('SIGTERM'), 100)
  expect(await ended).toBe(1)
  clearInterval(again)
})

test('after SIGTERM the service is not ready, and answers requests that still arrive', async () => {
  const draining = await startServiceProcess({ SOTTO_DATA_DIR: directory, SOTTO_DRAIN_MS: '600000' })
  expect((await fetch(`${draining.url}/readyz`)).status).toBe(200)
  const ended = draining.stop('SIGTERM')
  let status = 200
  while (status === 200) status = (await fetch(`${draining.url}/readyz`)).status
  expect(status).toBe(503)
  const key = (await readFile(path.join(directory, 'analyst.key'), 'utf8')).trim()
  const response = await fetch(`${draining.url}/v1/datasets`, { headers: { authorization: `Bearer ${key}` } })
  expect(response.status).toBe(200)
  draining.child.kill('SIGKILL')
  await ended
})
