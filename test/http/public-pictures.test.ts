import fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { expect, test } from 'vitest'
import { type PlotsOptions, plotsRoutes } from '../../routes/studies/plots.ts'

/** The plots over a pool that counts what it draws, and fails if a test says so. */
async function plots() {
  const drawn = { count: 0, fails: false }
  const app = fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  const plotPool = {
    run: async () => {
      drawn.count += 1
      if (drawn.fails) throw new Error('no thread')
      return `<svg>${drawn.count}</svg>`
    },
    close: async () => undefined,
  }
  await app.register(plotsRoutes, { plotPool } as unknown as PlotsOptions)
  const get = (statistics: number) => {
    const question = { epsilon: 0.5, delta: 1e-5, statistics, perStatistic: { contribution: 1 } }
    return app.inject({ url: '/v1/plots/noise-comparison', query: { question: JSON.stringify(question) } })
  }
  return { drawn, get }
}

test('a public picture is drawn once for each question', async () => {
  const { drawn, get } = await plots()
  const bodies = [await get(3), await get(3), await get(4), await get(3)].map(({ body }) => body)
  expect(bodies).toEqual(['<svg>1</svg>', '<svg>1</svg>', '<svg>2</svg>', '<svg>1</svg>'])
  expect(drawn.count).toBe(2)
})

test('the pictures that are kept are bounded, and those used last are kept', async () => {
  const { drawn, get } = await plots()
  for (let statistics = 1; statistics <= 100; statistics += 1) await get(statistics)
  await get(1)
  expect(drawn.count).toBe(100)
  await get(101)
  await get(1)
  expect(drawn.count).toBe(101)
  await get(2)
  expect(drawn.count).toBe(102)
})

test('a failure is not kept', async () => {
  const { drawn, get } = await plots()
  drawn.fails = true
  expect((await get(3)).statusCode).toBe(500)
  drawn.fails = false
  expect((await get(3)).statusCode).toBe(200)
})
