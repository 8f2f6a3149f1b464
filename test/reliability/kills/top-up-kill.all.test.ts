import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { must } from '../../../src/privacy/must.ts'
import { chance, needsAnotherRound, roundCount, roundCounter } from '../rounds.ts'
import { getJson, makeServiceFolder, registerPupils, send } from '../service.ts'

const YEARS = [1, 2, 3, 4]
const FIRST_EPSILON = 0.01
/** The lease of a killed attempt is 10 s longer. */
const ENVIRONMENT = { SOTTO_QUERY_TIMEOUT_MS: '1000' }

test('kill -9 during top-ups: each is charged once, its repeat is free and has the same value', async () => {
  const name = 'kill -9 during top-ups'
  const random = chance(name)
  const counted = roundCounter(name)
  const folder = await makeServiceFolder()
  let service = await folder.start(ENVIRONMENT)
  await registerPupils(folder, service.url, 1_000)
  const countOf = (year: number, more: object) => ({
    kind: 'count',
    where: { column: 'year', op: '=', value: year },
    ...more,
  })
  const ask = async (query: object) => {
    const { status, text } = await send(folder.analystKey, `${service.url}/v1/datasets/pupils/queries`, query)
    return { status, text, answer: JSON.parse(text) }
  }
  /** Until it is answered. */
  const settle = async (query: object) => {
    for (;;) {
      const { status, text, answer } = await ask(query)
      if (status === 200) return answer
      expect(answer.code, text).toBe('query-in-flight')
      await sleep(100)
    }
  }
  const topUpPrice = async (query: object) => {
    const preview = `${service.url}/v1/datasets/pupils/queries/preview`
    const { status, text } = await send(folder.analystKey, preview, query)
    expect(status, text).toBe(200)
    return JSON.parse(text).offers.topUp.price.epsilon as number
  }
  for (const year of YEARS) await settle(countOf(year, { epsilon: FIRST_EPSILON }))
  let spent = YEARS.length * FIRST_EPSILON

  for (let round = 1; needsAnotherRound(round, roundCount(1), counted); round += 1) {
    const topUps = YEARS.map((year) => countOf(year, { epsilon: (round + 1) / 100, use: 'topUp' }))
    const prices = await Promise.all(topUps.map(topUpPrice))
    // Killed once this number of top-ups is answered; if 0, at some moment before.
    const wanted = random.below(YEARS.length)
    const enough = Promise.withResolvers<void>()
    let arrived = 0
    const load = Promise.allSettled(
      topUps.map(async (topUp) => {
        const { status, text, answer } = await ask(topUp)
        expect(status, text).toBe(200)
        arrived += 1
        if (arrived === wanted) enough.resolve()
        return answer
      }),
    )
    await (wanted === 0 ? sleep(random.below(30)) : Promise.race([enough.promise, load]))
    await service.stop('SIGKILL')
    const outcomes = await load
    service = await folder.start(ENVIRONMENT)
    const settled = await Promise.all(topUps.map(settle))
    for (const [place, outcome] of outcomes.entries()) {
      const found = must(settled[place], 'an answer').result.value
      if (outcome.status === 'fulfilled') expect(found).toBeCloseTo(outcome.value.result.value, 6)
      // Error of `fetch` after the connection was cut.
      else if (!(outcome.reason instanceof TypeError)) throw outcome.reason
    }
    const again = await Promise.all(topUps.map(settle))
    for (const [place, { cost, result }] of again.entries()) {
      expect(cost).toMatchObject({ epsilon: 0 })
      expect(result.value).toBeCloseTo(must(settled[place], 'an answer').result.value, 6)
    }
    spent += prices.reduce((sum, price) => sum + price, 0)
    expect(await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/budget`)).toMatchObject({
      spent: { epsilon: expect.closeTo(spent, 9) },
    })
    counted.add({ rounds: 1, acknowledged: arrived, interrupted: topUps.length - arrived })
  }
  expect(
    await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/ledger/verification`),
  ).toMatchObject({ sound: true })
  expect(await service.stop('SIGTERM')).toBe(0)
  expect(counted.of('interrupted')).toBeGreaterThan(0)
  expect(counted.of('acknowledged')).toBeGreaterThan(0)
})
