import { expect, test } from 'vitest'
import { auditedReleases } from '../../../schemas/answers/audit.ts'
import { testService } from '../service.ts'

const service = testService({ SOTTO_AUDIT: 'true' })

const audit = (body: object) => service.as('auditor').post('/v1/audit/releases').send(body)

async function valuesOf(dataset: string, query: object, releases: number): Promise<number[]> {
  const { body } = await audit({ dataset, query, releases }).expect(200)
  return auditedReleases.parse(body).results.map((result) => {
    if (typeof result === 'object' && result !== null && 'value' in result) return Number(result.value)
    throw new Error('one value was asked for')
  })
}

test('fresh releases follow the distribution of the mechanism', async () => {
  const count = { kind: 'count', epsilon: 2, mechanism: 'geometric' }
  const [here, there] = [
    await valuesOf('audit-with', count, 1500),
    await valuesOf('audit-without', count, 1500),
  ]
  // P(Y >= 0) = 1 / (1 + q), P(Y >= 1) = q / (1 + q) with q = exp(-2): 0.881 and 0.119 of 6 or more.
  const share = (values: readonly number[]) => values.filter((value) => value >= 6).length / values.length
  const q = Math.exp(-2)
  // Off by 0.05 is 6 standard deviations; noise of twice the scale would be off by 0.15.
  expect(Math.abs(share(here) - 1 / (1 + q))).toBeLessThan(0.05)
  expect(Math.abs(share(there) - q / (1 + q))).toBeLessThan(0.05)
})

test('the total epsilon may exceed the largest budget', async () => {
  const costly = { kind: 'count', epsilon: 1000 }
  const { body: many } = await audit({ dataset: 'audit-with', query: costly, releases: 1_001 }).expect(200)
  expect(many.results).toHaveLength(1_001)
})

test('up to 10,000 releases at a delta of 0.0001', async () => {
  const query = { kind: 'count', epsilon: 1, delta: 1e-4, mechanism: 'gaussian' }
  const { body } = await audit({ dataset: 'audit-with', query, releases: 10_000 }).expect(200)
  expect(body.results).toHaveLength(10_000)
  const refused = await audit({ dataset: 'audit-with', query, releases: 10_001 }).expect(400)
  expect(refused.body.errors[0].field).toBe('releases')
})

test('a delta can be measured', async () => {
  // Keys alone: a city of one person appears with a probability of exactly delta.
  const query = { kind: 'keySelection', column: 'City', epsilon: 1, delta: 0.3 }
  const shareOf = async (dataset: string, releases: number) => {
    const { body } = await audit({ dataset, query, releases }).expect(200)
    const appeared = body.results.filter(({ keys }: { keys: readonly { key: string }[] }) =>
      keys.some(({ key }) => key === 'Westhaven'),
    )
    return appeared.length / releases
  }
  expect(await shareOf('audit-without', 200)).toBe(0)
  // 0.06 are 6 standard deviations.
  expect(Math.abs((await shareOf('audit-with', 2_000)) - 0.3)).toBeLessThan(0.06)
})

test('the results of a batch follow the same distribution as those of its queries', async () => {
  const queries = [
    { kind: 'count', where: { column: 'Sex', op: '=', value: 'M' }, epsilon: 2, mechanism: 'geometric' },
    { kind: 'histogram', column: 'Sex', epsilon: 1 },
  ]
  const { body } = await audit({ dataset: 'audit-with', queries, releases: 1_500 }).expect(200)
  expect(body.results).toHaveLength(1_500)
  const q = Math.exp(-2)
  const exact = body.results.filter(([count]: readonly [{ value: number }]) => count.value === 3)
  // P(Y = 0) = (1 - q) / (1 + q) = 0.76; 0.07 are 6 standard deviations.
  expect(Math.abs(exact.length / 1_500 - (1 - q) / (1 + q))).toBeLessThan(0.07)
  for (const [, table] of body.results) expect(table.cells).toHaveLength(2)
})

test('a session distinguishes neighbours no better than its epsilon allows', async () => {
  const everybody = { where: { column: 'Age', op: '>=', value: 0 } }
  const session = { threshold: 6, positives: 1, epsilon: 1, questions: [everybody] }
  type Answers = readonly { readonly above: boolean }[]
  const shareOf = async (dataset: string): Promise<number> => {
    const { body } = await audit({ dataset, session, releases: 3_000 }).expect(200)
    const releases: readonly Answers[] = body.results
    return releases.filter(([first]) => first?.above === true).length / releases.length
  }
  const [here, there] = [await shareOf('audit-with'), await shareOf('audit-without')]
  // The count is the threshold, so that half of the answers are above; 0.06 are 6 standard deviations.
  expect(Math.abs(here - 0.5)).toBeLessThan(0.06)
  expect(here / there).toBeLessThan(Math.E)
  expect(here - there).toBeGreaterThan(0.05)
})
