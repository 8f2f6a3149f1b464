import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describePostgres } from '../../servers/postgres.ts'
import { chance, needsAnotherRound, roundCount, roundCounter } from '../rounds.ts'
import { getJson, makeServiceFolder, type ServiceFolder } from '../service.ts'

/** Noise of scale 1/90 is 0 except with a probability below 1e-38. */
const COUNT = { kind: 'count', epsilon: 90, mechanism: 'geometric' }

/** The registration of deliveries. The n-th delivery has 100 n rows. */
const REGISTRATION = {
  id: 'deliveries',
  title: 'Deliveries',
  source: { kind: 'file', path: 'deliveries.csv', format: 'csv' },
  columns: [{ name: 'age', type: 'integer', lower: 0, upper: 120 }],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 1_000_000 },
  timing: 'off',
}

const deliver = (folder: ServiceFolder, number: number) =>
  writeFile(path.join(folder.directory, 'deliveries.csv'), `age\n${`${number % 100}\n`.repeat(100 * number)}`)

async function post(key: string, url: string, body: object, idempotencyKey?: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

interface Versions {
  readonly versions: readonly { readonly version: string }[]
}

/** Kills the service while it publishes a version, in each round at another moment. */
async function killWhilePublishing(name: string, rounds: number, ledger: Readonly<Record<string, string>>) {
  const random = chance(name)
  const counted = roundCounter(name)
  const folder = await makeServiceFolder()
  let service = await folder.start(ledger)
  const datasets = () => `${service.url}/v1/datasets`
  await deliver(folder, 1)
  expect((await post(folder.custodianKey, datasets(), REGISTRATION)).status).toBe(201)
  // The moments of the kills depend on how long a publication takes on this machine.
  await deliver(folder, 2)
  const startedMs = performance.now()
  expect((await post(folder.custodianKey, `${datasets()}/deliveries/versions`, {})).status).toBe(201)
  const usualMs = Math.ceil(performance.now() - startedMs)
  let delivery = 2
  let versions = 2

  for (let round = 1; needsAnotherRound(round, rounds, counted); round += 1) {
    delivery += 1
    await deliver(folder, delivery)
    const publishing = post(folder.custodianKey, `${datasets()}/deliveries/versions`, {}).then(
      ({ status }) => status,
      () => 'interrupted' as const,
    )
    await Promise.race([sleep(random.below(2 * usualMs)), publishing])
    await service.stop('SIGKILL')
    const outcome = await publishing
    expect([201, 'interrupted']).toContain(outcome)
    service = await folder.start(ledger)

    const listed = (await getJson(
      folder.analystKey,
      `${datasets()}/deliveries/versions`,
    )) as unknown as Versions
    const isPublished = listed.versions.length > versions
    if (outcome === 201) expect(isPublished).toBe(true)
    expect(listed.versions.length - versions).toBe(isPublished ? 1 : 0)
    // The complete rows of one version: the new one if it is listed, otherwise the one before.
    const { status, body } = await post(
      folder.analystKey,
      `${datasets()}/deliveries/queries`,
      COUNT,
      `round-${round}`,
    )
    expect(status, JSON.stringify(body)).toBe(200)
    if (!isPublished) delivery -= 1
    versions = listed.versions.length
    expect(body).toMatchObject({
      datasetVersion: listed.versions[0]?.version,
      result: { value: 100 * delivery },
    })
    counted.add({ rounds: 1, acknowledged: isPublished ? 1 : 0, interrupted: isPublished ? 0 : 1 })
  }
  await deliver(folder, delivery + 1)
  const last = await post(folder.custodianKey, `${datasets()}/deliveries/versions`, {})
  expect(last.status, JSON.stringify(last.body)).toBe(201)
  expect(await service.stop('SIGTERM')).toBe(0)
  return { folder, version: String(last.body.version), counted }
}

test('SQLite: kill -9 during a publication leaves the old version or the new one, whole, and no other file', async () => {
  const { folder, version, counted } = await killWhilePublishing(
    'kill -9 of a publication',
    roundCount(8),
    {},
  )
  const service = await folder.start()
  const root = path.join(folder.directory, 'datasets')
  expect(await readdir(root)).toEqual(['deliveries'])
  expect((await readdir(path.join(root, 'deliveries'))).sort()).toEqual([`${version}.duckdb`, 'dataset.json'])
  expect(await service.stop('SIGTERM')).toBe(0)
  // A run in which no publication was interrupted would test nothing.
  expect(counted.of('interrupted')).toBeGreaterThan(0)
})

describePostgres('versions on a ledger in PostgreSQL', (databases) => {
  test('kill -9 during a publication leaves the old version or the new one, whole', async () => {
    const ledger = { SOTTO_LEDGER_URL: await databases.createDatabase() }
    await killWhilePublishing('kill -9 of a publication on PostgreSQL', roundCount(3), ledger)
  })
})
