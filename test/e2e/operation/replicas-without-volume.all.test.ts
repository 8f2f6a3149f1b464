import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { pino } from 'pino'
import supertest from 'supertest'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import { COMMAND_LINE } from '../../../src/http/access/keys/key-changes.ts'
import { openKeyDocument } from '../../../src/http/access/keys/key-document.ts'
import { openKeyStore } from '../../../src/http/access/keys/keys.ts'
import { openDocuments } from '../../../src/ledger/documents/documents.ts'
import { type Service, startService } from '../../../src/server.ts'
import { describeOwnPostgres } from '../../servers/postgres.ts'

const KINDS = ['check', 'test', 'treatment', 'visit']
const PEOPLE = 400

describeOwnPostgres('replicas with a catalog in PostgreSQL and a data folder each', {}, (own) => {
  const folders: string[] = []
  const replicas: Service[] = []
  const keys = { analyst: '', colleague: '', custodian: '' }
  let catalogUrl = ''
  let ledgerUrl = ''
  let admin: Client

  const at = (replica: number, who: keyof typeof keys) =>
    supertest.agent(replicas[replica]?.url ?? '').set('authorization', `Bearer ${keys[who]}`)
  const start = async (replica: number) => {
    const config = readConfig({
      SOTTO_PORT: '0',
      SOTTO_DRAIN_MS: '0',
      SOTTO_DATA_DIR: folders[replica] ?? '',
      SOTTO_LEDGER_URL: ledgerUrl,
      SOTTO_CATALOG_URL: catalogUrl,
      SOTTO_CONNECTIONS: 'connections.json',
    })
    replicas[replica] = await startService(config, pino({ level: 'silent' }))
  }

  beforeAll(async () => {
    const warehouse = await own.server.createDatabase()
    ;[ledgerUrl, catalogUrl] = [await own.server.createDatabase(), await own.server.createDatabase()]
    admin = new Client(warehouse)
    admin.on('error', () => {})
    await admin.connect()
    await admin.query(`CREATE ROLE reader LOGIN PASSWORD 'read';
      CREATE TABLE care AS SELECT 'p' || person AS patient, kind
        FROM generate_series(1, ${PEOPLE}) AS person, unnest(string_to_array('${KINDS}', ',')) AS kind;
      CREATE TABLE changing AS SELECT * FROM care;
      GRANT SELECT ON care, changing TO reader`)
    const { port, pathname } = new URL(warehouse)
    const connection = { engine: 'postgres', host: '127.0.0.1', port: Number(port), user: 'reader' }
    const connections = {
      warehouse: { ...connection, database: pathname.slice(1), passwordFile: 'reader.password' },
    }
    const documents = await openDocuments(catalogUrl)
    const store = openKeyStore(openKeyDocument(documents))
    for (const name of ['analyst', 'colleague', 'custodian'] as const) {
      const role = name === 'custodian' ? name : 'analyst'
      keys[name] = (await store.create({ name, role }, COMMAND_LINE)).text
    }
    await documents.close()
    for (const replica of [0, 1]) {
      const folder = await mkdtemp(path.join(tmpdir(), 'sotto-replica-'))
      folders.push(folder)
      await writeFile(path.join(folder, 'connections.json'), JSON.stringify(connections), { mode: 0o600 })
      await writeFile(path.join(folder, 'reader.password'), 'read', { mode: 0o600 })
      await writeFile(path.join(folder, 'pupils.csv'), 'year\n1\n2\n3\n')
      await start(replica)
    }
  })
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()))
    await admin.end().catch(() => undefined)
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  })

  const care = (id: string, table = 'care') => ({
    id,
    title: 'Care',
    source: { kind: 'table', connection: 'warehouse', table: `public.${table}`, mode: 'live' },
    columns: [
      { name: 'patient', type: 'identifier' },
      { name: 'kind', type: 'category', categories: KINDS },
    ],
    privacyUnit: { kind: 'person', column: 'patient', maxRows: KINDS.length },
    neighbours: 'add-remove',
    timing: 'off',
    budget: { epsilon: 100_000, delta: 0 },
    separateBudget: 'A test.',
  })
  const pupils = {
    id: 'pupils',
    title: 'Pupils',
    source: { kind: 'file', path: 'pupils.csv', format: 'csv' },
    columns: [{ name: 'year', type: 'integer', lower: 0, upper: 10 }],
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    timing: 'off',
    budget: { epsilon: 1_000, delta: 0 },
  }
  const register = (replica: number, body: object) => at(replica, 'custodian').post('/v1/datasets').send(body)
  const ask = (replica: number, id: string, who: 'analyst' | 'colleague', query: object) =>
    at(replica, who).post(`/v1/datasets/${id}/queries`).send(query)
  const known = (replica: number, id: string, status: number) =>
    expect.poll(async () => (await at(replica, 'analyst').get(`/v1/datasets/${id}`)).status).toBe(status)
  const versionOn = (replica: number, id: string, version: string) =>
    expect
      .poll(async () => (await at(replica, 'analyst').get(`/v1/datasets/${id}`)).body.version)
      .toBe(version)
  /** One row of each person, which the key of the version chooses. The noise is 0 except with a probability below 1e-38. */
  const chosen = {
    kind: 'groupBy',
    keys: ['kind'],
    statistics: [{ kind: 'count' }],
    contribution: { groups: 1, rowsPerGroup: 1 },
    epsilon: 90,
    mechanism: 'geometric',
  }
  const groupsOn = async (replica: number, who: 'analyst' | 'colleague') =>
    (await ask(replica, 'care', who, chosen).expect(200)).body.result.groups

  test('a live table registered on one is answered by both with the same rows of each person', async () => {
    await register(0, care('care')).expect(201)
    await known(1, 'care', 200)
    const groups = await groupsOn(0, 'analyst')
    const counts = groups.map((group: { values: { count: { value: number } } }) => group.values.count.value)
    expect(counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(PEOPLE)
    // Under a second key these four counts would agree with a probability below 1e-3.
    expect(await groupsOn(1, 'colleague')).toEqual(groups)
    const { spent } = (await at(1, 'analyst').get('/v1/datasets/care/budget').expect(200)).body
    expect(spent).toEqual({ epsilon: 180, delta: 0 })
    // A repeat on the other replica is free.
    const again = await ask(1, 'care', 'analyst', chosen).expect(200)
    expect(again.body.cost).toEqual({ epsilon: 0, delta: 0 })
  })

  test('the rows of each person are the same after a restart, also of a replica with an empty folder', async () => {
    const groups = await groupsOn(0, 'analyst')
    await replicas[1]?.close()
    await rm(path.join(folders[1] ?? '', 'datasets'), { recursive: true })
    await start(1)
    const longer = { ...chosen, epsilon: 91 }
    expect((await ask(1, 'care', 'analyst', longer).expect(200)).body.result.groups).toEqual(groups)
  })

  test('a new version and a withdrawal on one are followed by the other', async () => {
    await register(0, care('followed', 'changing')).expect(201)
    await known(1, 'followed', 200)
    await admin.query('ALTER TABLE changing ADD remark text')
    const publish = (replica: number) =>
      at(replica, 'custodian').post('/v1/datasets/followed/versions').send({})
    // The columns that the version may read are the same, so that publishing again changes nothing.
    expect((await publish(1).expect(409)).body.code).toBe('nothing-to-publish')
    await admin.query('ALTER TABLE changing ALTER kind TYPE varchar(20)')
    expect((await publish(1).expect(201)).body.version).toBe('2')
    await versionOn(0, 'followed', '2')
    await at(1, 'custodian').delete('/v1/datasets/followed').expect(204)
    await known(0, 'followed', 404)
  })

  test('of registrations of one id on both at the same time, one succeeds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = `race-${round}`
      const titled = (title: string) => ({ ...care(id), title })
      const outcomes = await Promise.all([register(0, titled('One')), register(1, titled('Another'))])
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual([201, 409])
      for (const replica of [0, 1]) await known(replica, id, 200)
    }
  })

  test('versions published on both while connections are lost leave one version with one key', async () => {
    await admin.query('CREATE TABLE often AS SELECT * FROM care; GRANT SELECT ON often TO reader')
    await register(0, care('often', 'often')).expect(201)
    await known(1, 'often', 200)
    const publish = (replica: number) => at(replica, 'custodian').post('/v1/datasets/often/versions').send({})
    let published = 0
    let present = true
    for (let round = 0; round < 8; round += 1) {
      await admin.query(`ALTER TABLE often ALTER kind TYPE varchar(${30 + round})`)
      const publishing = Promise.all([publish(0), publish(1)])
      for (let cut = 0; cut < 6; cut += 1)
        await admin.query(`SELECT pg_terminate_backend(pid), pg_sleep(0.02) FROM pg_stat_activity
          WHERE application_name = 'sotto' AND datname <> current_database() AND random() < 0.5`)
      const statuses = (await publishing).map(({ status }) => status)
      published += statuses.filter((status) => status === 201).length
      present = statuses.some((status) => status === 201 || status === 409)
    }
    expect(published).toBeGreaterThan(0)
    // Without a version for the last change of the table, queries would suspend the dataset.
    if (!present) await publish(0).expect(201)
    // One replica keeps what it has in memory, and the other reads the database again.
    await replicas[1]?.close()
    await start(1)
    const { version } = (await at(1, 'analyst').get('/v1/datasets/often').expect(200)).body
    await versionOn(0, 'often', version)
    const [one, other] = [
      await ask(0, 'often', 'analyst', chosen),
      await ask(1, 'often', 'colleague', chosen),
    ]
    expect([one.status, other.status], JSON.stringify([one.body, other.body])).toEqual([200, 200])
    expect(other.body.result.groups).toEqual(one.body.result.groups)
  })

  test('a dataset over a file is answered where its rows are; elsewhere nothing is charged', async () => {
    await register(0, pupils).expect(201)
    await known(1, 'pupils', 200)
    const count = { kind: 'count', epsilon: 90, mechanism: 'geometric' }
    const refused = await ask(1, 'pupils', 'analyst', count).expect(503)
    expect(refused.body).toMatchObject({ code: 'unavailable' })
    expect(refused.body.detail).toContain('Nothing was charged')
    expect(refused.headers['retry-after']).toBe('5')
    const session = { threshold: 1, positives: 1, epsilon: 1 }
    await at(1, 'analyst').post('/v1/datasets/pupils/sparse-vector-sessions').send(session).expect(503)
    const budget = async () => (await at(1, 'analyst').get('/v1/datasets/pupils/budget').expect(200)).body
    expect((await budget()).spent).toEqual({ epsilon: 0, delta: 0 })
    await supertest(replicas[1]?.url ?? '')
      .get('/readyz')
      .expect(200)
    expect((await ask(0, 'pupils', 'analyst', count).expect(200)).body.result).toEqual({ value: 3 })
    // It stays so after a restart of the replica without the rows.
    await replicas[1]?.close()
    await start(1)
    await ask(1, 'pupils', 'colleague', count).expect(503)
    expect((await budget()).spent).toEqual({ epsilon: 90, delta: 0 })
  })

  test('while the database is down nothing is answered or charged, and afterwards all is as before', async () => {
    await own.server.stop('immediate')
    const { status, body, headers } = await ask(0, 'care', 'analyst', { ...chosen, epsilon: 92 })
    expect([status, body.code]).toEqual([503, 'unavailable'])
    expect(headers).toHaveProperty('retry-after')
    for (const replica of replicas) await supertest(replica.url).get('/readyz').expect(503)
    await own.server.start()
    await expect.poll(async () => (await supertest(replicas[0]?.url ?? '').get('/readyz')).status).toBe(200)
    const again = () => ask(0, 'care', 'analyst', { ...chosen, epsilon: 92 })
    await expect.poll(async () => (await again()).status).toBe(200)
    const { spent } = (await at(1, 'analyst').get('/v1/datasets/care/budget').expect(200)).body
    expect(spent).toEqual({ epsilon: 180 + 91 + 92, delta: 0 })
  })
})
