import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { startServiceProcess } from './process.ts'

const ROUNDS = 5
const QUESTIONS_PER_ROUND = 24
const EPSILON = 0.01

/** Killed with no warning while it answers; every question is then asked again. */
test('kill -9 under load loses nothing: each question is charged once, and a paid answer never changes', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'sotto-kill-'))
  const paid = new Map<string, string>()
  let interrupted = 0
  let asked = 0
  try {
    for (let round = 0; round <= ROUNDS; round += 1) {
      const service = await startServiceProcess({ SOTTO_DATA_DIR: directory, SOTTO_LOG_LEVEL: 'silent' })
      const key = (await readFile(path.join(directory, 'analyst.key'), 'utf8')).trim()
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const ask = async (question: number) => {
        const response = await fetch(`${service.url}/v1/datasets/census/queries`, {
          method: 'POST',
          headers: { ...headers, 'idempotency-key': `question-${question}` },
          body: JSON.stringify({ kind: 'histogram', column: 'Occupation', epsilon: EPSILON }),
        })
        const body = await response.text()
        expect(response.status, body).toBe(200)
        return body
      }

      for (let question = 0; question < asked; question += 1) {
        const body = await ask(question)
        expect(paid.get(String(question)) ?? body).toBe(body)
        paid.set(String(question), body)
      }
      const response = await fetch(`${service.url}/v1/datasets/census/budget`, { headers })
      const budget = (await response.json()) as { spent: { epsilon: number } }
      expect(budget.spent.epsilon).toBe(Number((asked * EPSILON).toFixed(9)))
      if (round === ROUNDS) {
        expect(await service.stop('SIGTERM')).toBe(0)
        break
      }

      const load = Array.from({ length: QUESTIONS_PER_ROUND }, async (_, index) => {
        const question = asked + index
        paid.set(String(question), await ask(question))
      })
      const settled = Promise.allSettled(load)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 40))
      await service.stop('SIGKILL')
      interrupted += (await settled).filter(({ status }) => status === 'rejected').length
      asked += QUESTIONS_PER_ROUND
    }
    // A run in which no request was ever cut off would have tested nothing.
    expect(interrupted).toBeGreaterThan(0)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
