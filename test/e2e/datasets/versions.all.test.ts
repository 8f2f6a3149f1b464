import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService()

/** Noise of scale 1/90 is 0 except with a probability below 1e-38. */
const EXACT = { epsilon: 90, mechanism: 'geometric' }

const kindOf = (delivery: number) => (delivery % 2 === 1 ? 'A' : 'B')

/** Rows of a delivery: ten times its number, all with its number, and of one kind for odd and another for even numbers. */
const deliver = async (id: string, number: number) => {
  // The id makes the files of datasets different.
  const rows = Array.from({ length: number * 10 }, () => `${number},${kindOf(number)},30,${id}`)
  const text = ['delivery,kind,age,note', ...rows, ''].join('\n')
  await writeFile(path.join(service.dataDirectory, `${id}-${number}.csv`), text)
}
const registration = (id: string) => ({
  id,
  title: 'Deliveries',
  source: { kind: 'file', path: `${id}-1.csv`, format: 'csv' },
  columns: [
    { name: 'delivery', type: 'integer', lower: 0, upper: 1_000 },
    { name: 'kind', type: 'category', categories: ['A', 'B'] },
  ],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 1_000_000 },
  timing: 'off',
})
const register = async (id: string, changes: object = {}) => {
  await deliver(id, 1)
  return service.register({ ...registration(id), ...changes }).expect(201)
}
const publish = (id: string, body: object) =>
  service.as('custodian').post(`/v1/datasets/${id}/versions`).send(body)
const publishDelivery = async (id: string, number: number) => {
  await deliver(id, number)
  return publish(id, { source: { kind: 'file', path: `${id}-${number}.csv`, format: 'csv' } })
}
const ask = (id: string, query: object, key?: string) => {
  const request = service.as('analyst').post(`/v1/datasets/${id}/queries`)
  return key === undefined ? request.send(query) : request.set('idempotency-key', key).send(query)
}
const count = { kind: 'count', ...EXACT }
const ofKind = (kind: string) => ({ ...count, where: { column: 'kind', op: '=', value: kind } })
const versionsOf = async (id: string) =>
  (await service.as('analyst').get(`/v1/datasets/${id}/versions`).expect(200)).body.versions

describe('a new version', () => {
  test('replaces the rows under the same declaration and budget, and is public with its number and time', async () => {
    const { body: first } = await register('plain')
    expect((await ask('plain', count).expect(200)).body.result).toEqual({ value: 10 })
    const { status, body } = await publishDelivery('plain', 2)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      version: '2',
      registeredAt: first.registeredAt,
      ingestion: { rowsStored: 20 },
    })
    const answered = await ask('plain', count).expect(200)
    expect(answered.body).toMatchObject({ result: { value: 20 }, datasetVersion: '2', cost: { epsilon: 90 } })
    const { body: budget } = await service.as('analyst').get('/v1/datasets/plain/budget').expect(200)
    expect(budget.spent).toEqual({ epsilon: 180, delta: 0 })
    const versions = await versionsOf('plain')
    expect(versions).toEqual([
      { version: '2', publishedAt: expect.any(String) },
      { version: '1', publishedAt: first.registeredAt },
    ])
    const { body: acts } = await service.as('auditor').get('/v1/administration/events').expect(200)
    expect(acts.events[0]).toMatchObject({
      kind: 'version-published',
      principal: 'custodian',
      subject: 'plain',
      facts: { version: '2', synthetic: false },
    })
  })

  test('with the rows of the present one changes nothing', async () => {
    const { status, body } = await publish('plain', {})
    expect(status).toBe(200)
    expect(body.version).toBe('2')
    expect(await versionsOf('plain')).toHaveLength(2)
  })

  test('removes the rows of the one before, and survives a restart', async () => {
    const files = () => readdir(path.join(service.dataDirectory, 'datasets', 'plain'))
    await expect.poll(async () => (await files()).sort()).toEqual(['2.duckdb', 'dataset.json'])
    const before = await versionsOf('plain')
    await service.restart()
    expect(await versionsOf('plain')).toEqual(before)
    expect((await ask('plain', count, 'restarted').expect(200)).body.result).toEqual({ value: 20 })
  })

  test('that does not fit, or of an unknown dataset, changes nothing', async () => {
    await writeFile(path.join(service.dataDirectory, 'wrong.csv'), 'delivery,kind\nsoon,A\n')
    const source = { kind: 'file', path: 'wrong.csv', format: 'csv' }
    expect((await publish('plain', { source }).expect(422)).body.code).toBe('source-does-not-fit')
    await publish('unknown', { source }).expect(404)
    await publish('plain', { source, budget: { epsilon: 1 } }).expect(400)
    expect((await versionsOf('plain'))[0].version).toBe('2')
    expect(await readdir(path.join(service.dataDirectory, 'datasets'))).toEqual(['plain'])
  })

  test('of a source that another dataset has needs a reason, and real data never become synthetic', async () => {
    await register('other')
    const source = { kind: 'file', path: 'plain-2.csv', format: 'csv' }
    const { body } = await publish('other', { source }).expect(409)
    expect(body).toMatchObject({ code: 'source-registered', errors: [{ field: 'separateBudget' }] })
    await publish('other', { source, separateBudget: 'the committee grants its own' }).expect(201)
    await deliver('made-up', 1)
    const madeUp = { ...registration('made-up'), synthetic: true }
    await service.register(madeUp).expect(201)
    expect((await publish('made-up', { source }).expect(409)).body.code).toBe('source-registered')
    const population = { kind: 'population', rows: 10, seed: 'a' }
    expect((await publish('plain', { source: population }).expect(400)).body.errors[0].field).toBe(
      'synthetic',
    )
  })

  test('shows the number of rows where it is public', async () => {
    await register('counted', { neighbours: 'change-one' })
    await publishDelivery('counted', 2)
    expect((await versionsOf('counted')).map(({ rows }: { rows: number }) => rows)).toEqual([20, 10])
    await writeFile(path.join(service.dataDirectory, 'empty.csv'), 'delivery,kind\n')
    const source = { kind: 'file', path: 'empty.csv', format: 'csv' }
    await publish('counted', { source }).expect(422)
  })
})

describe('the declaration', () => {
  const [delivery, kind] = registration('wide').columns
  const source = { kind: 'file', path: 'wide-2.csv', format: 'csv' }

  test('may widen', async () => {
    await register('wide')
    await deliver('wide', 2)
    const columns = [
      { name: 'age', type: 'integer', lower: 0, upper: 120, nullable: true },
      { ...kind, categories: ['A', 'B', 'C'] },
      { ...delivery, lower: -5, upper: 2_000, nullable: true, rankable: { maxValues: 1_000 } },
    ]
    const { body } = await publish('wide', { source, columns }).expect(201)
    expect(body.columns.map(({ name }: { name: string }) => name)).toEqual(['age', 'kind', 'delivery'])
    const query = { kind: 'count', where: { column: 'age', op: '=', value: 30 }, ...EXACT }
    expect((await ask('wide', query).expect(200)).body.result).toEqual({ value: 20 })
  })

  test.each([
    ['a missing column', [kind], 'columns.1.name'],
    ['another type', [delivery, { name: 'kind', type: 'string' }], 'columns.1.type'],
    ['a missing category', [delivery, { ...kind, categories: ['A', 'C'] }], 'columns.1.categories'],
    ['categories in another order', [delivery, { ...kind, categories: ['B', 'A'] }], 'columns.1.categories'],
    ['a narrower bound', [{ ...delivery, upper: 999 }, kind], 'columns.0.upper'],
    ['another step', [{ ...delivery, step: 2 }, kind], 'columns.0.step'],
    ['an invalid declaration', [{ ...delivery, lower: -1e17 }, kind], 'columns.0.lower'],
  ])('may not change otherwise: %s', async (_name, columns, field) => {
    await service.as('custodian').delete('/v1/datasets/narrow')
    await register('narrow')
    const { body } = await publish('narrow', { columns }).expect(400)
    expect(body.errors[0].field).toBe(field)
    expect(await versionsOf('narrow')).toHaveLength(1)
  })
})

test('a new version with another type of the privacy unit is told so', async () => {
  const note = { name: 'note', type: 'identifier' }
  await register('unit', { columns: [note], privacyUnit: { kind: 'person', column: 'note', maxRows: 2 } })
  const { body } = await publish('unit', { columns: [{ ...note, type: 'string' }] }).expect(400)
  expect(body.errors).toEqual([
    { field: 'columns.0.type', rule: 'must be identifier, as in the version before' },
  ])
})

describe('over the switch', () => {
  test('answers are replayed under their key, and a question without a key is a new one', async () => {
    await register('replayed')
    const first = await ask('replayed', count).expect(200)
    const keyed = await ask('replayed', count, 'one').expect(200)
    await publishDelivery('replayed', 2)
    const replay = await ask('replayed', count, 'one').expect(200)
    expect(replay.headers['idempotent-replayed']).toBe('true')
    expect(replay.body).toMatchObject({ id: keyed.body.id, datasetVersion: '1', result: { value: 10 } })
    expect(replay.body.cost.epsilon).toBe(0)
    await ask('replayed', { ...count, epsilon: 80 }, 'one').expect(422)
    const again = await ask('replayed', count).expect(200)
    expect(again.body).toMatchObject({ datasetVersion: '2', result: { value: 20 }, cost: { epsilon: 90 } })
    const { body } = await service.as('analyst').get(`/v1/releases/${first.body.id}`).expect(200)
    expect(body.result).toEqual({ value: 10 })
  })

  test('answers are replayed under their key where the new version declares more values', async () => {
    await register('widened')
    await deliver('widened', 2)
    // In the first version every row satisfies the condition, and the sum needs less epsilon for its accuracy.
    const queries = {
      every: { ...count, where: { column: 'delivery', op: '<=', value: 1_000 } },
      accurate: { kind: 'sum', column: 'delivery', accuracy: { halfWidth: 1_000 } },
    }
    const paid = new Map<string, string>()
    for (const [key, query] of Object.entries(queries))
      paid.set(key, (await ask('widened', query, key).expect(200)).body.id)
    const [delivery, kind] = registration('widened').columns
    const source = { kind: 'file', path: 'widened-2.csv', format: 'csv' }
    await publish('widened', { source, columns: [{ ...delivery, upper: 2_000 }, kind] }).expect(201)
    for (const [key, query] of Object.entries(queries)) {
      const { body } = await ask('widened', query, key).expect(200)
      expect(body).toMatchObject({ id: paid.get(key), datasetVersion: '1', cost: { epsilon: 0 } })
    }
    await ask('widened', queries.every, 'accurate').expect(422)
  })

  test('a session continues on the new rows, and replays its earlier answers', async () => {
    const age = { name: 'age', type: 'integer', lower: 0, upper: 120 }
    await register('watched', { columns: [age] })
    const opening = { threshold: 15, positives: 2, epsilon: 900 }
    const { body: session } = await service
      .as('analyst')
      .post('/v1/datasets/watched/sparse-vector-sessions')
      .send(opening)
      .expect(201)
    const question = (key: string) =>
      service
        .as('analyst')
        .post(`/v1/sparse-vector-sessions/${session.id}/questions`)
        .set('idempotency-key', key)
        .send({ where: { column: 'age', op: '=', value: 30 } })
    expect((await question('1').expect(200)).body).toMatchObject({ above: false, datasetVersion: '1' })
    await publishDelivery('watched', 2)
    expect((await question('2').expect(200)).body).toMatchObject({ above: true, datasetVersion: '2' })
    expect((await question('1').expect(200)).body).toMatchObject({ above: false, datasetVersion: '1' })
    await service.as('custodian').delete('/v1/datasets/watched').expect(204)
    await service.register({ ...registration('watched'), columns: [age] }).expect(201)
    expect((await question('3').expect(409)).body.code).toBe('session-dataset-changed')
  })

  test('queries see the complete rows of one version each, and always an answer', async () => {
    await register('busy')
    const last = 5
    let switching = true
    const seen = new Set<number>()
    const askOn = async (lane: number) => {
      for (let number = 0; switching; number += 1) {
        const { status, body } = await service
          .as('analyst')
          .post('/v1/datasets/busy/queries/batch')
          .set('idempotency-key', `${lane}-${number}`)
          .send({ queries: [count, ofKind('A'), ofKind('B')] })
        expect(status, JSON.stringify(body)).toBe(200)
        const version = Number(body.datasetVersion)
        const values = body.answers.map(({ result }: { result: { value: number } }) => result.value)
        const rows = version * 10
        expect(values).toEqual([rows, ...(version % 2 === 1 ? [rows, 0] : [0, rows])])
        seen.add(version)
      }
    }
    const lanes = Array.from({ length: 3 }, (_, lane) => askOn(lane))
    for (let number = 2; number <= last; number += 1)
      expect((await publishDelivery('busy', number)).status).toBe(201)
    const latest = async () => (await ask('busy', count, `latest-${seen.size}`)).body.datasetVersion
    await expect.poll(latest).toBe(String(last))
    switching = false
    await Promise.all(lanes)
    expect(seen.size).toBeGreaterThan(1)
    const files = () => readdir(path.join(service.dataDirectory, 'datasets', 'busy'))
    await expect.poll(async () => (await files()).sort()).toEqual([`${last}.duckdb`, 'dataset.json'])
  })
})
