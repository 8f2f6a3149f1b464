import { once } from 'node:events'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import supertest from 'supertest'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createKey } from '../../api-key.ts'
import { testService } from '../service.ts'

const MAX_BYTES = 100_000
const service = testService({
  SOTTO_UPLOAD_MAX_BYTES: String(MAX_BYTES),
  SOTTO_UPLOAD_TOTAL_BYTES: '200000',
})
let limitedKey = ''
beforeAll(async () => {
  const request = { name: 'limited', role: 'custodian', datasets: ['theirs'] } as const
  limitedKey = await createKey(service.dataDirectory, request)
})
beforeEach(async () => {
  for (const agent of [service.as('custodian'), asLimited()])
    for (const { id } of (await agent.get('/v1/sources')).body.sources)
      await agent.delete(`/v1/sources/${id}`)
})

function asLimited() {
  return supertest.agent(service.url).set('authorization', `Bearer ${limitedKey}`)
}

const upload = (bytes: string | Buffer, name = 'people.csv', agent = service.as('custodian')) =>
  agent.post('/v1/sources').attach('file', Buffer.from(bytes), name)

/** Names of all files of uploads, finished or not. */
async function stored(folder = service.dataDirectory): Promise<string[]> {
  const names = await readdir(path.join(folder, '.uploads'), { recursive: true })
  return names.filter((name) => name.includes('/'))
}

const registrationOf = (id: string, uploaded: string) => ({
  id,
  title: 'People',
  source: { kind: 'upload', upload: uploaded, format: 'csv' },
  columns: [{ name: 'age', type: 'integer', lower: 0, upper: 120 }],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 1 },
})
const register = (body: object, agent = service.as('custodian')) => agent.post('/v1/datasets').send(body)

test('an upload is listed with its facts, readable by the owner of the process only, and deleted', async () => {
  const { body } = await upload('age\n30\n').expect(201)
  expect(body).toMatchObject({ name: 'people.csv', bytes: 7, format: 'csv' })
  expect(body.id).toMatch(/^[0-9a-f]{32}$/)
  expect(Date.parse(body.expiresAt) - Date.parse(body.uploadedAt)).toBe(72 * 3_600_000)
  const parquet = await upload('PAR1 and more', 'people.bin').expect(201)
  expect(parquet.body).toMatchObject({ format: 'parquet' })
  const { body: list } = await service.as('custodian').get('/v1/sources').expect(200)
  expect(new Set(list.sources.map(({ id }: { id: string }) => id))).toEqual(
    new Set([body.id, parquet.body.id]),
  )

  const root = path.join(service.dataDirectory, '.uploads')
  for (const name of ['', ...(await readdir(root, { recursive: true }))])
    expect((await stat(path.join(root, name))).mode & 0o077, name).toBe(0)
  for (const { id } of list.sources) await service.as('custodian').delete(`/v1/sources/${id}`).expect(204)
  await service.as('custodian').delete(`/v1/sources/${body.id}`).expect(404)
  expect(await stored()).toEqual([])
})

test('the name of the file is shown without folders and control characters, and is never a path', async () => {
  const names = [
    ['../../evil.csv', 'evil.csv'],
    ['C:\\data\\my file.csv', 'my file.csv'],
    ['a\u202Eb.csv', 'ab.csv'],
    [`${'x'.repeat(300)}.csv`, 'x'.repeat(200)],
  ] as const
  for (const [sent, shown] of names) {
    const { body } = await upload('age\n1\n', sent).expect(201)
    expect(body.name).toBe(shown)
  }
  expect(await readdir(service.dataDirectory)).not.toContain('evil.csv')
  for (const name of await stored()) expect(name).toMatch(/^[0-9a-f]{64}\/[0-9a-f]{32}\.(rows|json)$/)
})

test('an upload becomes a dataset of the custodian who sent it, and of no other', async () => {
  const { body: sent } = await upload('age\n31\n32\n').expect(201)
  const refused = await register(registrationOf('theirs', sent.id), asLimited()).expect(422)
  expect(refused.body).toMatchObject({ code: 'source-refused', errors: [{ field: 'source.upload' }] })
  await asLimited().delete(`/v1/sources/${sent.id}`).expect(404)
  expect((await asLimited().get('/v1/sources').expect(200)).body).toEqual({ sources: [] })

  const { body } = await register(registrationOf('people', sent.id)).expect(201)
  expect(body).toMatchObject({ source: { kind: 'upload', upload: sent.id }, ingestion: { rowsStored: 2 } })
  // The same bytes, uploaded again, are the same source.
  await service.as('custodian').delete(`/v1/sources/${sent.id}`).expect(204)
  const again = await upload('age\n31\n32\n').expect(201)
  await register(registrationOf('people', again.body.id)).expect(200)
  const other = await upload('age\n31\n33\n').expect(201)
  expect((await register(registrationOf('people', other.body.id)).expect(409)).body.code).toBe(
    'dataset-exists',
  )
})

test('attack: two budgets over one file, once uploaded and once in the data folder', async () => {
  const text = 'age\n41\n42\n43\n'
  await writeFile(path.join(service.dataDirectory, 'twice.csv'), text)
  const file = { kind: 'file', path: 'twice.csv', format: 'csv' }
  await register({ ...registrationOf('first', ''), source: file }).expect(201)
  const { body: sent } = await upload(text).expect(201)
  const { body } = await register(registrationOf('second', sent.id)).expect(409)
  expect(body).toMatchObject({ code: 'source-registered', errors: [{ field: 'separateBudget' }] })
  const shown = { ...registrationOf('second', sent.id), synthetic: true }
  expect((await register(shown).expect(409)).body.errors[0].field).toBe('synthetic')
})

test('attack: an upload is not reachable as a file of the data folder', async () => {
  const { body: sent } = await upload('age\n51\n', 'x.csv').expect(201)
  const [name = ''] = (await stored()).filter((each) => each.endsWith('.rows'))
  for (const reached of [`.uploads/${name}`, `./.uploads/${name}`, `survey/../.uploads/${name}`]) {
    const source = { kind: 'file', path: reached, format: 'csv' }
    const { body } = await register({ ...registrationOf('reached', ''), source }).expect(422)
    expect(body).toMatchObject({ code: 'source-refused', errors: [{ field: 'source.path' }] })
  }
  for (const id of [`../../${sent.id}`, `${sent.id}.json`, sent.id.toUpperCase()])
    await register(registrationOf('reached', id)).expect(400)
})

test('a file that is too large is refused and leaves nothing', async () => {
  await upload('x'.repeat(MAX_BYTES)).expect(201)
  const before = await stored()
  for (const bytes of [MAX_BYTES + 1, MAX_BYTES * 30]) {
    const { body } = await upload('x'.repeat(bytes)).expect(413)
    expect(body.code).toBe('upload-too-large')
  }
  expect((await upload('').expect(400)).body.errors).toEqual([{ field: 'file', rule: 'must not be empty' }])
  expect(await stored()).toEqual(before)
})

test('the space of a principal is limited; others are not affected', async () => {
  for (const _ of [1, 2]) await upload('x'.repeat(95_000)).expect(201)
  const before = await stored()
  expect((await upload('x'.repeat(20_000)).expect(429)).body.code).toBe('quota-exceeded')
  expect(await stored()).toEqual(before)
  await upload('x'.repeat(20_000), 'a.csv', asLimited()).expect(201)
})

test('parallel uploads that together exceed the space of a principal never exceed it', async () => {
  const bytes = 95_000
  const answers = await Promise.all(Array.from({ length: 6 }, () => upload('x'.repeat(bytes))))
  const received = answers.filter(({ status }) => status === 201)
  expect(received.length).toBeLessThanOrEqual(2)
  for (const { status, body } of answers.filter((each) => !received.includes(each)))
    expect([status, body.code]).toEqual([429, 'quota-exceeded'])
  const { sources } = (await service.as('custodian').get('/v1/sources').expect(200)).body
  expect(new Set(sources.map(({ id }: { id: string }) => id))).toEqual(
    new Set(received.map(({ body }) => body.id)),
  )
  expect(await stored()).toHaveLength(2 * received.length)
  // The refused ones hold no space.
  for (let free = 2 - received.length; free > 0; free -= 1) await upload('x'.repeat(bytes)).expect(201)
})

const PART = 'Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nage\r\n1'
const sendForm = (body: string) =>
  service
    .as('custodian')
    .post('/v1/sources')
    .set('content-type', 'multipart/form-data; boundary=x')
    .send(body)

test('bodies of another form are refused', async () => {
  const custodian = service.as('custodian')
  const json = await custodian.post('/v1/sources').send({ file: 'age' }).expect(415)
  expect(json.body.detail).toBe('Send the body as multipart/form-data.')
  for (const form of [
    () => custodian.post('/v1/sources').field('file', 'age\n1\n'),
    () => custodian.post('/v1/sources').attach('data', Buffer.from('age\n1\n'), 'a.csv'),
    () => sendForm('--x--\r\n'),
    () => sendForm(''),
    () => sendForm('no part at all'),
    () => sendForm(`--x\r\n${PART}\r\n--x\r\n${PART}\r\n--x--\r\n`),
    // The last boundary is missing: the file may have been cut.
    () => sendForm(`--x\r\n${PART}\r\n`),
    () => sendForm(`--x\r\n${PART.replace('name="file"', 'name="constructor"')}\r\n--x--\r\n`),
  ]) {
    const { body } = await form().expect(400)
    expect(body).toMatchObject({ code: 'invalid-request', errors: [{ field: 'file' }] })
  }
  await custodian.post('/v1/datasets').attach('file', Buffer.from('{}'), 'a.json').expect(415)
  expect(await stored()).toEqual([])
})

test('a client that is still sending a refused file gets the answer, and the connection ends', async () => {
  const sending = request(`${service.url}/v1/sources`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.keyOf('custodian')}`,
      'content-type': 'multipart/form-data; boundary=x',
    },
  })
  sending.on('error', () => undefined)
  const ended = new Promise((resolve) => sending.once('close', resolve))
  sending.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n')
  // More than all buffers on the way hold, so that the rest waits for a reader.
  sending.write(Buffer.alloc(50_000_000, 'x'))
  const [response] = await once(sending, 'response')
  expect(response.statusCode).toBe(413)
  response.resume()
  await ended
})

test('an upload that the client interrupts leaves nothing', async () => {
  const sending = request(`${service.url}/v1/sources`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.keyOf('custodian')}`,
      'content-type': 'multipart/form-data; boundary=x',
    },
  })
  sending.on('error', () => undefined)
  sending.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nage\r\n')
  while ((await stored()).length === 0) await setTimeout(10)
  expect((await stored())[0]).toMatch(/\.partial$/)
  sending.destroy()
  while ((await stored()).length > 0) await setTimeout(10)
  expect((await service.as('custodian').get('/v1/sources').expect(200)).body.sources).toEqual([])
})

test('an upload expires, and a start removes what a crash left', async () => {
  const { body: sent } = await upload('age\n61\n').expect(201)
  const root = path.join(service.dataDirectory, '.uploads')
  const facts = (await stored()).find((name) => name.endsWith('.json')) ?? ''
  const file = path.join(root, facts)
  const written = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...written, expiresAt: new Date(Date.now() - 1).toISOString() }))
  await writeFile(file.replace(/[^/]*$/, 'interrupted.partial'), 'age')
  expect((await service.as('custodian').get('/v1/sources').expect(200)).body.sources).toEqual([])
  await register(registrationOf('expired', sent.id)).expect(422)
  await service.restart()
  expect(await stored()).toEqual([])
})

/** Changes the stored facts of the only upload. */
async function changeFacts(change: (text: string) => string) {
  const facts = (await stored()).find((name) => name.endsWith('.json')) ?? ''
  const file = path.join(service.dataDirectory, '.uploads', facts)
  await writeFile(file, change(await readFile(file, 'utf8')))
}

test('a shorter time of the configuration applies to earlier uploads, also when they are used', async () => {
  const { body: sent } = await upload('age\n71\n').expect(201)
  const uploadedAt = new Date(Date.now() - 2 * 3_600_000).toISOString()
  await changeFacts((text) => JSON.stringify({ ...JSON.parse(text), uploadedAt }))
  await service.restart({ SOTTO_UPLOAD_KEEP_HOURS: '3' })
  const { sources } = (await service.as('custodian').get('/v1/sources').expect(200)).body
  const expiresAt = new Date(Date.parse(uploadedAt) + 3 * 3_600_000).toISOString()
  expect(sources).toMatchObject([{ id: sent.id, uploadedAt, expiresAt }])
  await service.restart({ SOTTO_UPLOAD_KEEP_HOURS: '1' })
  await register(registrationOf('shortened', sent.id)).expect(422)
  expect(await stored()).toEqual([])
})

test.each([
  ['no JSON', () => '{"name": "peop'],
  ['no object', () => 'null'],
  ['without a time', (text: string) => JSON.stringify({ ...JSON.parse(text), expiresAt: undefined })],
  ['with another time', (text: string) => JSON.stringify({ ...JSON.parse(text), expiresAt: 'tomorrow' })],
])(
  'an upload whose facts are damaged (%s) does not exist, and the next start removes it',
  async (_, damage) => {
    const { body: sent } = await upload('age\n81\n').expect(201)
    await changeFacts(damage)
    const custodian = service.as('custodian')
    expect((await custodian.get('/v1/sources').expect(200)).body.sources).toEqual([])
    const refused = await register(registrationOf('damaged', sent.id)).expect(422)
    expect(refused.body).toMatchObject({ code: 'source-refused', errors: [{ field: 'source.upload' }] })
    const source = { kind: 'upload', upload: sent.id }
    await custodian.post('/v1/drafts').send({ source }).expect(422)
    await service.restart()
    expect(await stored()).toEqual([])
  },
)
