import { expect, test } from 'vitest'
import { answer as answerSchema, preview as previewSchema } from '../../../schemas/answers/answer.ts'
import { testService } from '../service.ts'

const service = testService({ SOTTO_DEMO: 'true' })

const ask = (query: object) => service.as('analyst').post('/v1/datasets/census/queries').send(query)
const preview = async (query: object) =>
  previewSchema.parse(
    (await service.as('analyst').post('/v1/datasets/census/queries/preview').send(query).expect(200)).body,
  )
const spent = async () =>
  (await service.as('analyst').get('/v1/datasets/census/budget').expect(200)).body.spent.epsilon

const bySex = { kind: 'histogram', column: 'Sex', epsilon: 0.1 }
const total = { kind: 'count', epsilon: 0.1 }

test('a total of paid parts is free, and says from which answers it follows', async () => {
  expect((await preview(total)).offers.free).toEqual({ reason: 'it does not follow from your releases' })
  const parts = (await ask(bySex).expect(200)).body
  const before = await spent()
  const offered = await preview(total)
  expect(offered.offers.free).toMatchObject({ releases: [parts.id] })
  const { body } = await ask({ ...total, use: 'free' }).expect(200)
  const answered = answerSchema.parse(body)
  const sum = parts.result.cells.reduce((all: number, cell: { value: number }) => all + cell.value, 0)
  expect(answered.result).toEqual({ value: sum })
  expect(answered.cost).toEqual({ epsilon: 0, delta: 0 })
  expect(answered.inference?.releases).toEqual([{ id: parts.id, measurement: parts.measurement }])
  expect(await spent()).toBe(before)
  // An inferred answer is not the question's replay.
  expect((await preview(total)).paid).toBe(false)
})
