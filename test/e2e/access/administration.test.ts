import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' })

const read = (call: string) => service.as('auditor').get(`/v1/administration/${call}`)

test('administrative acts are listed, exported and verified for auditors and custodians', async () => {
  const custodian = service.as('custodian')
  await custodian
    .post('/v1/datasets/census/grants')
    .send({ epsilon: 1, reason: 'a second survey' })
    .expect(200)
  await custodian
    .put('/v1/datasets/census/analysts/analyst/allotment')
    .send({ epsilon: 3, reason: 'a share' })
    .expect(200)
  const { body } = await read('events').expect(200)
  const kinds = body.events.map(({ kind, principal, subject }: Record<string, string>) => [
    kind,
    principal,
    subject,
  ])
  expect(kinds.slice(0, 2)).toEqual([
    ['allotment-set', 'custodian', 'census'],
    ['budget-granted', 'custodian', 'census'],
  ])
  expect(kinds).toContainEqual(['dataset-registered', 'sotto', 'census'])
  // Each refers to the event of the dataset that has the particulars.
  const { entries } = (await service.as('auditor').get('/v1/datasets/census/ledger').expect(200)).body
  const { sequence, hash } = body.events[1].facts
  expect(entries).toContainEqual(expect.objectContaining({ sequence, hash, kind: 'granted' }))

  const page = await read('events?limit=1').expect(200)
  expect(page.body).toEqual({ events: [body.events[0]], next: String(body.events[0].sequence) })
  const rest = await read(`events?cursor=${page.body.next}`).expect(200)
  expect(rest.body.events).toEqual(body.events.slice(1))

  const { text } = await read('export').buffer().expect(200)
  const lines = text.trimEnd().split('\n')
  for (const [index, line] of lines.entries()) {
    const [, event = '', digest] = /^\{"event":(.*),"hash":"([0-9a-f]{64})"\}$/.exec(line) ?? []
    expect(createHash('sha256').update(event).digest('hex')).toBe(digest)
    const previous = index === 0 ? '0'.repeat(64) : JSON.parse(lines[index - 1] ?? '{}').hash
    expect(JSON.parse(event)).toMatchObject({ previousHash: previous, dataset: '@administration' })
  }
  const headHash = body.events[0].hash
  expect((await read('verification').expect(200)).body).toEqual({
    sound: true,
    events: lines.length,
    headHash,
  })
  expect((await read('head').expect(200)).body).toMatchObject({
    dataset: '@administration',
    sequence: lines.length,
    hash: headHash,
  })
  for (const call of ['events', 'export', 'verification', 'head']) {
    await custodian.get(`/v1/administration/${call}`).expect(200)
    await service.as('analyst').get(`/v1/administration/${call}`).expect(403)
  }
})

test('attack: the chain of administrative acts cannot be reached as a dataset', async () => {
  const custodian = service.as('custodian')
  for (const id of ['@administration', '%40administration']) {
    await custodian.get(`/v1/datasets/${id}/ledger`).expect(400)
    await custodian.post(`/v1/datasets/${id}/grants`).send({ epsilon: 1, reason: 'none' }).expect(400)
  }
  await custodian.post('/v1/datasets').send({ id: '@administration' }).expect(400)
})
