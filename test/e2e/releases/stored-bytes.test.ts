import { expect, test } from 'vitest'
import { testService } from '../service.ts'

// OWASP API4:2023, unrestricted resource consumption: answers cost almost nothing, and each is stored.

const service = testService({ SOTTO_STORED_BYTES: '6000' }, { census: true })

const ask = (place: number) =>
  service.ask('census', {
    kind: 'count',
    epsilon: 0.000001,
    where: { column: 'Age', op: '>=', value: place },
  })
const spent = async () =>
  (await service.as('analyst').get('/v1/datasets/census/budget').expect(200)).body.spent

test('attack: stored answers end at the quota, before the debit, and are still replayed', async () => {
  const session = await service
    .as('analyst')
    .post('/v1/datasets/census/sparse-vector-sessions')
    .send({ threshold: 10, positives: 2, epsilon: 0.1 })
    .expect(201)
  let place = 0
  for (; (await ask(place)).status === 200; place += 1) expect(place).toBeLessThan(4)
  const before = await spent()
  const { body } = await ask(place).expect(429)
  expect(body).toMatchObject({
    code: 'quota-exceeded',
    detail: expect.stringContaining('Nothing was charged'),
  })
  expect(await spent()).toEqual(before)
  expect((await ask(0).expect(200)).headers['idempotent-replayed']).toBe('true')
  const question = { where: { column: 'Age', op: '>=', value: 30 } }
  const questions = `/v1/sparse-vector-sessions/${session.body.id}/questions`
  await service.as('analyst').post(questions).send(question).expect(429)
  // Each analyst has a quota of their own.
  await service
    .asColleague()
    .post('/v1/datasets/census/queries')
    .send({ kind: 'count', epsilon: 0.000001 })
    .expect(200)
})
