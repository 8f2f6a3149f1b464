import { expect, test } from 'vitest'
import { describePostgres } from '../servers/postgres.ts'
import { roundCount, roundCounter } from './rounds.ts'
import { askPupils, getJson, makeServiceFolder, registerPupils, type ServiceFolder } from './service.ts'

/** A cap of 1,000 thousandths of epsilon; each question costs 10 of them. */
const CAP = 1
const PRICE = 0.01
const QUESTIONS = 400

/** Asks all questions at once, spread over the services, and checks the remaining budget. */
async function askAll(folder: ServiceFolder, urls: readonly string[]) {
  const answers = await Promise.all(
    Array.from({ length: QUESTIONS }, (_, index) =>
      askPupils(folder, urls[index % urls.length] ?? '', PRICE, `question-${index}`),
    ),
  )
  const answered = answers.filter(({ status }) => status === 200)
  const denied = answers.filter(({ status }) => status !== 200)
  expect(answered.length).toBe(100)
  // Beyond a number of recorded denials, a chosen key is refused without one.
  expect(new Set(denied.map(({ text }) => JSON.parse(text).code))).toEqual(
    new Set(['budget-insufficient', 'quota-exceeded']),
  )
  expect(new Set(answered.map(({ text }) => JSON.parse(text).id)).size).toBe(100)
  for (const url of urls) {
    expect(await getJson(folder.auditorKey, `${url}/v1/datasets/pupils/budget`)).toMatchObject({
      spent: { epsilon: CAP },
      remaining: { epsilon: 0 },
    })
    expect(await getJson(folder.auditorKey, `${url}/v1/datasets/pupils/ledger/verification`)).toMatchObject({
      sound: true,
    })
  }
  return { rounds: 1, charges: answered.length, denied: denied.length }
}

test('SQLite: of 400 concurrent charges of 10 under a cap of 1,000, exactly 100 succeed', async () => {
  const counted = roundCounter('400 charges at once, one process on SQLite')
  for (let round = 0; round < Math.min(10, roundCount(1)); round += 1) {
    const folder = await makeServiceFolder()
    const { url, stop } = await folder.start()
    await registerPupils(folder, url, CAP)
    counted.add(await askAll(folder, [url]))
    expect(await stop('SIGTERM')).toBe(0)
  }
})

describePostgres('PostgreSQL', (databases) => {
  test('of 400 concurrent charges of 10 under a cap of 1,000, over three processes, exactly 100 succeed', async () => {
    const counted = roundCounter('400 charges at once, three processes on PostgreSQL')
    for (let round = 0; round < Math.min(10, roundCount(1)); round += 1) {
      const folder = await makeServiceFolder()
      const SOTTO_LEDGER_URL = await databases.createDatabase()
      const first = await folder.start({ SOTTO_LEDGER_URL })
      await registerPupils(folder, first.url, CAP)
      // The others read the first one's registration from the folder.
      const others = await Promise.all([1, 2].map(() => folder.start({ SOTTO_LEDGER_URL })))
      const services = [first, ...others]
      counted.add(
        await askAll(
          folder,
          services.map(({ url }) => url),
        ),
      )
      for (const { stop } of services) expect(await stop('SIGTERM')).toBe(0)
    }
  })
})
