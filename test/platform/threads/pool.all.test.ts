import { expect, onTestFinished, test } from 'vitest'
import { openStudyPool } from '../../../src/studies/pools.ts'

test('threads are killed while they load the drawing code, and the process survives', async () => {
  const pool = openStudyPool({ threads: 2, maxWaiting: 16, waitMs: 600_000, maxPerPrincipal: 3 })
  onTestFinished(() => pool.close())
  const question = {
    columns: { days: [1, 2, 3, 10] },
    released: 3,
    query: { kind: 'mean' },
    risk: 0.5,
  } as const
  const drawn = { picture: { picture: 'risk', question }, theme: 'light' } as const
  for (let round = 0; round < 60; round += 1) {
    const leaving = new AbortController()
    const run = pool
      .run('draw', drawn, { timeoutMs: 600_000, givenUp: leaving.signal })
      .catch(() => undefined)
    setTimeout(() => leaving.abort(), (round * 37) % 240)
    await run
  }
  expect(
    await pool.run('draw', drawn, { timeoutMs: 600_000, givenUp: new AbortController().signal }),
  ).toContain('<svg')
})
