import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pino } from 'pino'
import supertest from 'supertest'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import { type Service, startService } from '../../../src/server.ts'
import { createKey } from '../../api-key.ts'
import { describePostgres } from '../../servers/postgres.ts'

describePostgres('replicas on one ledger in PostgreSQL', (databases) => {
  let folder = ''
  let replicas: readonly Service[] = []
  const keys = { analyst: '', colleague: '', custodian: '' }
  const at = (replica: number, who: keyof typeof keys) =>
    supertest.agent(replicas[replica]?.url ?? '').set('authorization', `Bearer ${keys[who]}`)

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'sotto-replicas-'))
    for (const name of ['analyst', 'colleague', 'custodian'] as const)
      keys[name] = await createKey(folder, { name, role: name === 'custodian' ? name : 'analyst' })
    const config = readConfig({
      SOTTO_PORT: '0',
      SOTTO_DEMO: 'false',
      SOTTO_DRAIN_MS: '0',
      SOTTO_DATA_DIR: folder,
      SOTTO_LEDGER_URL: await databases.createDatabase(),
    })
    const logger = pino({ level: 'silent' })
    replicas = [await startService(config, logger), await startService(config, logger)]
    const rows = (values: readonly number[]) => ['year', ...values].join('\n')
    await writeFile(path.join(folder, 'few.csv'), rows([1, 2, 3]))
    await writeFile(path.join(folder, 'many.csv'), rows(Array.from({ length: 50 }, (_, year) => year)))
  })
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()))
    await rm(folder, { recursive: true, force: true })
  })

  const registration = (id: string, file: string, upper: number) => ({
    id,
    title: 'Pupils',
    source: { kind: 'file', path: file, format: 'csv' },
    columns: [{ name: 'year', type: 'integer', lower: 0, upper }],
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    budget: { epsilon: 1_000, delta: 0 },
    synthetic: true,
    sharing: true,
  })
  const register = (replica: number, body: object) => at(replica, 'custodian').post('/v1/datasets').send(body)
  /** Noise of this scale is 0 except with a probability below 1e-38. */
  const count = { kind: 'count', epsilon: 90, mechanism: 'geometric' }
  const ask = (
    replica: number,
    id: string,
    who: 'analyst' | 'colleague' = 'analyst',
    query: object = count,
  ) => at(replica, who).post(`/v1/datasets/${id}/queries`).send(query)
  const known = (replica: number, id: string, status: number) =>
    expect.poll(async () => (await at(replica, 'analyst').get(`/v1/datasets/${id}`)).status).toBe(status)

  test('a key created or deleted on one replica is valid or refused on the others with the next request', async () => {
    for (let round = 1; round <= 10; round += 1) {
      const request = { name: `guest-${round}`, role: 'analyst' }
      const { body } = await at(0, 'custodian').post('/v1/keys').send(request).expect(201)
      const ask = () =>
        supertest(replicas[1]?.url ?? '')
          .get('/v1/datasets')
          .set('authorization', `Bearer ${body.key}`)
      await ask().expect(200)
      await at(0, 'custodian').delete(`/v1/keys/${body.id}`).expect(204)
      await ask().expect(401)
    }
  })

  test('changes of keys on all replicas at once are recorded once each', async () => {
    const names = Array.from({ length: 12 }, (_, number) => `crowd-${number}`)
    const create = (name: string, replica: number) =>
      at(replica % 2, 'custodian')
        .post('/v1/keys')
        .send({ name, role: 'analyst' })
        .expect(201)
    await Promise.all(names.map(create))
    const acts = async (): Promise<readonly string[]> => {
      const { body } = await at(1, 'custodian').get('/v1/administration/events?limit=200').expect(200)
      const subjects = body.events.map(({ subject }: { subject: string }) => subject)
      return subjects.filter((subject: string) => subject.startsWith('crowd-')).sort()
    }
    const expected = names.map((name) => `${name}.1`).sort()
    await expect.poll(acts).toEqual(expected)
  })

  test('a dataset registered on one replica is answered, replayed and shared by the others', async () => {
    await register(0, registration('pupils', 'few.csv', 10)).expect(201)
    await known(1, 'pupils', 200)
    const first = await ask(0, 'pupils').expect(200)
    expect(first.body.result).toEqual({ value: 3 })
    const again = await ask(1, 'pupils').expect(200)
    expect(again.body).toEqual({ ...first.body, cost: { epsilon: 0, delta: 0 }, price: first.body.cost })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect((await ask(1, 'pupils', 'colleague').expect(200)).body).toMatchObject({ shared: true })
    const { spent } = (await at(1, 'analyst').get('/v1/datasets/pupils/budget').expect(200)).body
    expect(spent).toEqual({ epsilon: 90, delta: 0 })
  })

  test('a dataset withdrawn on one replica and registered on another is a new version for all', async () => {
    await register(0, registration('again', 'few.csv', 10)).expect(201)
    await known(1, 'again', 200)
    await at(0, 'custodian').delete('/v1/datasets/again').expect(204)
    // Immediately, before the other replica has polled.
    const { body } = await register(1, registration('again', 'many.csv', 100)).expect(201)
    expect(body.version).toBe('2')
    await known(0, 'again', 200)
    for (const replica of [0, 1])
      expect((await ask(replica, 'again').expect(200)).body.result).toEqual({ value: 50 })
  })

  test('a new version published on one replica is followed by the others without a gap', async () => {
    const budget = { epsilon: 1_000_000, delta: 0 }
    await register(0, { ...registration('nightly', 'few.csv', 100), budget, sharing: false }).expect(201)
    await known(1, 'nightly', 200)
    let publishing = true
    const askOn = async (replica: number) => {
      const seen: string[] = []
      for (let number = 0; publishing || number === 0; number += 1) {
        const { status, body } = await ask(replica, 'nightly').set('idempotency-key', `${replica}-${number}`)
        expect(status, JSON.stringify(body)).toBe(200)
        expect(body.result).toEqual({ value: { '1': 3, '2': 50, '3': 3 }[body.datasetVersion as string] })
        seen.push(body.datasetVersion)
      }
      // A replica never goes back to an earlier version.
      expect(seen).toEqual(seen.toSorted())
    }
    const asking = Promise.all([askOn(0), askOn(1)])
    const publish = (replica: number, file: string) =>
      at(replica, 'custodian')
        .post('/v1/datasets/nightly/versions')
        .send({ source: { kind: 'file', path: file, format: 'csv' } })
    const current = (replica: number, version: string) =>
      expect
        .poll(async () => (await at(replica, 'analyst').get('/v1/datasets/nightly')).body.version)
        .toBe(version)
    expect((await publish(0, 'many.csv').expect(201)).body.version).toBe('2')
    await current(1, '2')
    expect((await publish(1, 'few.csv').expect(201)).body.version).toBe('3')
    await current(0, '3')
    publishing = false
    await asking
  })

  test('two replicas that ingest versions of one dataset at the same time do not disturb each other', async () => {
    await register(0, registration('both', 'few.csv', 10)).expect(201)
    await known(1, 'both', 200)
    const columns = [{ name: 'year', type: 'integer', lower: 0, upper: 100 }]
    const publish = (replica: number, seed: string) =>
      at(replica, 'custodian')
        .post('/v1/datasets/both/versions')
        .send({ source: { kind: 'file', path: seed, format: 'csv' }, columns })
    const published = await Promise.all([publish(0, 'many.csv'), publish(1, 'few.csv')])
    expect(published.map(({ status }) => status)).toEqual([201, 201])
    expect(published.map(({ body }) => body.version).toSorted()).toEqual(['2', '3'])
    const [first, second] = published.map(({ body }) => ({
      version: body.version,
      rows: body.ingestion.rowsStored,
    }))
    expect([first?.rows, second?.rows]).toEqual([50, 3])
    const rows = first?.version === '3' ? 50 : 3
    for (const replica of [0, 1])
      await expect
        .poll(async () => (await ask(replica, 'both')).body)
        .toMatchObject({ datasetVersion: '3', result: { value: rows } })
  })

  test('one of several concurrent registrations of an id succeeds, with the rows of its declaration', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = `race-${round}`
      const outcomes = await Promise.all([
        register(0, registration(id, 'few.csv', 10)),
        register(1, registration(id, 'many.csv', 100)),
      ])
      const statuses = outcomes.map(({ status }) => status)
      expect(statuses.toSorted()).toEqual([201, 409])
      const rows = statuses[0] === 201 ? 3 : 50
      for (const replica of [0, 1]) {
        await known(replica, id, 200)
        expect((await ask(replica, id).expect(200)).body.result).toEqual({ value: rows })
      }
    }
  })
})
