import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describePostgres } from '../../servers/postgres.ts'
import { chance, needsAnotherRound, roundCount, roundCounter } from '../rounds.ts'
import { askPupils, getJson, makeServiceFolder, registerPupils } from '../service.ts'

const EPSILON = 0.01
const QUESTIONS_PER_ROUND = 24

/** The lease is 10 s longer than this. A question whose attempt was killed may have to wait until it expires. */
const QUERY_TIMEOUT_MS = '3000'

/** Kills the service under load in each round, then asks every question again until it is answered. */
async function killUnderLoad(name: string, rounds: number, ledger: Readonly<Record<string, string>>) {
  const random = chance(name)
  const counted = roundCounter(name)
  const folder = await makeServiceFolder()
  const environment = { SOTTO_QUERY_TIMEOUT_MS: QUERY_TIMEOUT_MS, ...ledger }
  let service = await folder.start(environment)
  await registerPupils(folder, service.url, 1_000)
  const answers = new Map<string, string>()
  let asked = 0

  /** Until it is answered; returns the bytes. */
  const settle = async (key: string) => {
    for (;;) {
      const { status, text } = await askPupils(folder, service.url, EPSILON, key)
      if (status === 200) return text
      expect(status, text).toBe(409)
      expect(JSON.parse(text).code).toBe('query-in-flight')
      await sleep(100)
    }
  }
  const check = async (key: string) => {
    const text = await settle(key)
    expect(answers.get(key) ?? text, key).toBe(text)
    answers.set(key, text)
  }

  for (let round = 1; needsAnotherRound(round, rounds, counted); round += 1) {
    const keys = Array.from({ length: QUESTIONS_PER_ROUND }, (_, index) => `question-${asked + index}`)
    asked += QUESTIONS_PER_ROUND
    // Killed once this number of questions is answered; if 0, at some moment before.
    const wanted = random.below(QUESTIONS_PER_ROUND)
    const answered = Promise.withResolvers<void>()
    let arrived = 0
    const load = Promise.allSettled(
      keys.map(async (key) => {
        const { status, text } = await askPupils(folder, service.url, EPSILON, key)
        expect(status, text).toBe(200)
        answers.set(key, text)
        arrived += 1
        if (arrived === wanted) answered.resolve()
      }),
    )
    await (wanted === 0 ? sleep(random.below(60)) : Promise.race([answered.promise, load]))
    await service.stop('SIGKILL')
    const outcomes = await load
    const refused = outcomes.filter(
      (each) => each.status === 'rejected' && !(each.reason instanceof TypeError),
    )
    expect(refused).toEqual([])
    service = await folder.start(environment)
    await Promise.all(keys.map(check))
    const acknowledged = outcomes.filter(({ status }) => status === 'fulfilled').length
    counted.add({
      rounds: 1,
      asked: keys.length,
      acknowledged,
      interrupted: keys.length - acknowledged,
    })
  }
  // Repeats every question that was answered; each must have one charge.
  for (let index = 0; index < asked; index += 1) await check(`question-${index}`)
  expect(await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/budget`)).toMatchObject({
    spent: { epsilon: Number((asked * EPSILON).toFixed(9)) },
  })
  expect(
    await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/ledger/verification`),
  ).toMatchObject({ sound: true })
  expect(await service.stop('SIGTERM')).toBe(0)
  // A run in which no request was interrupted, or none was answered before, would test nothing.
  expect(counted.of('interrupted')).toBeGreaterThan(0)
  expect(counted.of('acknowledged')).toBeGreaterThan(0)
}

test('SQLite: kill -9 of a service under load: each question is charged once, and a paid answer never changes', async () => {
  await killUnderLoad('kill -9 of a service on SQLite', roundCount(3), {})
})

describePostgres('PostgreSQL', (databases) => {
  test('kill -9 of a service under load: each question is charged once, and a paid answer never changes', async () => {
    const SOTTO_LEDGER_URL = await databases.createDatabase()
    await killUnderLoad('kill -9 of a service on PostgreSQL', roundCount(1), {
      SOTTO_LEDGER_URL,
    })
  })
})
