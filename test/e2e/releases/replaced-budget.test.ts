import { expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService()

const people = {
  id: 'people',
  title: 'People',
  source: { kind: 'population', rows: 100, seed: 'a' },
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 100 },
}
const register = (changes: object = {}) => service.register({ ...people, ...changes })
const replace = (id: string, body: object) =>
  service.as('custodian').put(`/v1/datasets/${id}/budget`).send(body)
const reason = 'a typing error'
const ask = (epsilon: number) => service.ask('people', { kind: 'count', epsilon })

test('a wrong cap is replaced until something is spent', async () => {
  await register().expect(201)
  const { body } = await replace('people', { epsilon: 1, delta: 1e-6, reason }).expect(200)
  expect(body).toMatchObject({ granted: { epsilon: 1, delta: 1e-6 }, spent: { epsilon: 0, delta: 0 } })
  // The registration with the right cap changes nothing, also after a restart; with the wrong one it is another.
  await service.restart()
  await register({ budget: { epsilon: 1, delta: 1e-6 } }).expect(200)
  await register().expect(409)
  await ask(2).expect(403)
  await service.as('custodian').delete('/v1/datasets/people').expect(204)
  await replace('people', { epsilon: 3, reason }).expect(200)
  await register({ budget: { epsilon: 3 } }).expect(201)
  await ask(0.1).expect(200)
  const { body: spent } = await replace('people', { epsilon: 5, reason }).expect(409)
  expect(spent).toMatchObject({ code: 'budget-spent', cap: { epsilon: 3 }, spent: { epsilon: 0.1 } })
  const { body: ledger } = await service.as('auditor').get('/v1/datasets/people/ledger').expect(200)
  const kinds = ledger.entries.map(({ kind }: { kind: string }) => kind).reverse()
  expect(kinds).toEqual(['opened', 'cap-replaced', 'denied', 'cap-replaced', 'charged', 'answered'])
  const verification = await service.as('auditor').get('/v1/datasets/people/ledger/verification').expect(200)
  expect(verification.body).toMatchObject({ sound: true })
})

test('a replacement must be a valid cap, of an id with a budget, by a custodian', async () => {
  await replace('unknown', { epsilon: 1, reason }).expect(404)
  await service.as('analyst').put('/v1/datasets/people/budget').send({ epsilon: 9, reason }).expect(403)
  await register({ id: 'in-rho', accounting: 'zcdp', budget: { epsilon: 1, delta: 1e-6 } }).expect(201)
  for (const body of [{ epsilon: 1 }, { epsilon: 0, reason }, { epsilon: 1_000_001, reason }])
    await replace('in-rho', body).expect(400)
  const { body } = await replace('in-rho', { epsilon: 1, reason }).expect(400)
  expect(body.errors).toEqual([{ field: 'delta', rule: 'must be greater than 0 under zcdp accounting' }])
})
