import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startServiceProcess } from '../process.ts'

test('kill -9 during questions: answered questions are replayed, and no positive is given twice', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'sotto-session-kill-'))
  const environment = { SOTTO_DATA_DIR: directory, SOTTO_LOG_LEVEL: 'silent' }
  const seen = new Map<string, string>()
  const counted = { answered: 0, cutOff: 0 }
  const KILLS = 3
  const AT_ONCE = 8
  try {
    for (let round = 0; round <= KILLS; round += 1) {
      const process = await startServiceProcess(environment)
      const key = (await readFile(path.join(directory, 'analyst.key'), 'utf8')).trim()
      const authorization = `Bearer ${key}`
      const get = async (address: string) =>
        (await fetch(process.url + address, { headers: { authorization } })).json()
      const post = async (address: string, body: object, idempotencyKey: string) => {
        const response = await fetch(process.url + address, {
          method: 'POST',
          headers: {
            authorization,
            'content-type': 'application/json',
            'idempotency-key': idempotencyKey,
          },
          body: JSON.stringify(body),
        })
        return { status: response.status, text: await response.text() }
      }
      const session = { threshold: 50_000, positives: 25, epsilon: 5 }
      const first = await post('/v1/datasets/census/sparse-vector-sessions', session, 'killed')
      expect([200, 201], first.text).toContain(first.status)
      const { id } = JSON.parse(first.text)
      // The census has 100,000 people: every question is positive.
      const question = async (name: string) => {
        const body = { where: { column: 'Age', op: '>=', value: 0 } }
        const { status, text } = await post(`/v1/sparse-vector-sessions/${id}/questions`, body, name)
        if (status === 409 && !seen.has(name)) return expect(JSON.parse(text).code).toBe('session-used-up')
        expect(status, text).toBe(200)
        expect(text).toBe(seen.get(name) ?? text)
        seen.set(name, text)
      }
      for (const name of [...seen.keys()]) await question(name)
      const names = Array.from({ length: AT_ONCE }, (_, index) => `${round}-${index}`)
      if (round < KILLS) {
        // Killed after a number of answers; the other questions are at any stage.
        const enough = Promise.withResolvers<void>()
        const wanted = seen.size + 1 + (round % (AT_ONCE - 1))
        const load = names.map(async (name) => {
          await question(name)
          if (seen.size >= wanted) enough.resolve()
        })
        const settled = Promise.allSettled(load)
        await Promise.race([enough.promise, settled])
        await process.stop('SIGKILL')
        for (const outcome of await settled) {
          if (outcome.status === 'fulfilled') counted.answered += 1
          // Error of `fetch` after the connection was cut.
          else if (outcome.reason instanceof TypeError) counted.cutOff += 1
          else throw outcome.reason
        }
      } else {
        await Promise.all(names.map(question))
        for (let index = 0; index < 30; index += 1) await question(`last-${index}`)
        const answers = [...seen.values()].map((text) => JSON.parse(text))
        expect(answers.every(({ above }) => above)).toBe(true)
        // Some were stored and never arrived; the total does not exceed the session's positives.
        expect(answers.length).toBeLessThanOrEqual(25)
        expect(new Set(answers.map(({ question: number }) => number)).size).toBe(answers.length)
        expect(await get(`/v1/sparse-vector-sessions/${id}`)).toMatchObject({
          positivesLeft: 0,
          answered: 25,
        })
        expect(await get('/v1/datasets/census/budget')).toMatchObject({ spent: { epsilon: 5 } })
        expect(await process.stop('SIGTERM')).toBe(0)
      }
    }
    expect(counted.answered).toBeGreaterThanOrEqual(KILLS)
    expect(counted.cutOff).toBeGreaterThan(0)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
