import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openStudyPool, type StudyPool } from '../../../src/studies/pools.ts'
import { rejectedRefusal } from '../../refusal.ts'

let pool: StudyPool
beforeEach(() => {
  pool = openStudyPool({ threads: 2, maxWaiting: 16, waitMs: 600_000, maxPerPrincipal: 3 })
})
afterEach(() => pool.close())

const neverDisconnects = () => new AbortController().signal
const patient = () => ({ timeoutMs: 600_000, givenUp: neverDisconnects() })
const quick = JSON.stringify({
  universe: { days: [1, 2, 3, 10] },
  released: 3,
  query: { kind: 'mean' },
})
const sumOf = (people: number) =>
  JSON.stringify({
    universe: { days: Array.from({ length: people }, (_, index) => (index * 7919) % 3001) },
    released: people / 2,
    query: { kind: 'sum' },
  })
/** A computation that takes seconds, the longest that the limits allow. */
const slow = sumOf(100)
/** The beginning of a report. */
const done = '{"released":'

describe('a pool of computations', () => {
  test('returns results, and does not block the event loop', async () => {
    let turns = 0
    const turning = setInterval(() => {
      turns += 1
    }, 1)
    const report = JSON.parse(await pool.run('risk', sumOf(50), patient()))
    clearInterval(turning)
    expect(report.columns[0].ways.answers).toBe('structure')
    expect(turns).toBeGreaterThan(10)
  })

  test('a refusal keeps its fields and facts', async () => {
    const wide = Array.from({ length: 40 }, (_, i) => i)
    const asking = (universe: object) =>
      JSON.stringify({ universe, released: 20, query: { kind: 'variance' } })
    const refusal = await rejectedRefusal(pool.run('risk', asking({ days: [1, 2, 3, 4], wide }), patient()))
    expect(refusal.code).toBe('invalid-request')
    const { code, facts } = await rejectedRefusal(pool.run('risk', asking({ wide }), patient()))
    expect(code).toBe('too-many-worlds')
    expect(facts).toMatchObject({ limit: 100_000 })
  })

  test('another error does not become a refusal', async () => {
    const broken = { request: {}, workload: undefined as never }
    await expect(pool.run('comparison', broken, patient())).rejects.toBeInstanceOf(TypeError)
  })

  test('a computation that takes too long is stopped, and frees its thread', async () => {
    const tooLong = await Promise.all(
      [1, 2, 3].map(() =>
        rejectedRefusal(pool.run('risk', slow, { timeoutMs: 5, givenUp: neverDisconnects() })),
      ),
    )
    expect(tooLong.map(({ code }) => code)).toEqual(Array(3).fill('unavailable'))
    expect(tooLong[0]?.message).toContain('longer than 0.005 s')
    expect(await pool.run('risk', quick, patient())).toContain(done)
  })

  test('a computation is stopped once its client has disconnected, also while it waits for a thread', async () => {
    const leaving = new AbortController()
    const runs = Array.from({ length: 6 }, () =>
      rejectedRefusal(pool.run('risk', slow, { timeoutMs: 60_000, givenUp: leaving.signal })),
    )
    leaving.abort()
    expect((await Promise.all(runs)).map(({ code }) => code)).toEqual(Array(6).fill('unavailable'))
    expect(await pool.run('risk', quick, patient())).toContain(done)
  })

  test('computations beyond the limit of the wait are refused', async () => {
    const leaving = new AbortController()
    const runs = Array.from({ length: 30 }, () =>
      rejectedRefusal((async () => pool.run('risk', slow, { timeoutMs: 60_000, givenUp: leaving.signal }))()),
    )
    const [first] = await Promise.all([Promise.race(runs)])
    expect(first).toMatchObject({ code: 'unavailable', facts: { retryAfterSeconds: 1 } })
    leaving.abort()
    await Promise.all(runs)
  })

  test('a principal cannot exceed its limit; others are not affected', async () => {
    const terms = { ...patient(), principal: 'ada' }
    const leaving = new AbortController()
    const runs = [1, 2, 3].map(() =>
      rejectedRefusal(pool.run('risk', slow, { ...terms, givenUp: leaving.signal })),
    )
    const tooMany = await rejectedRefusal((async () => pool.run('risk', quick, terms))())
    expect(tooMany).toMatchObject({ code: 'unavailable', facts: { retryAfterSeconds: 1 } })
    const another = pool.run('risk', quick, { ...terms, principal: 'ben' })
    leaving.abort()
    await Promise.all(runs)
    expect(await another).toContain(done)
    expect(await pool.run('risk', quick, terms)).toContain(done)
  })

  test('the time limit begins with the computation, not with its wait', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const leaving = new AbortController()
      const ahead = [1, 2].map(() =>
        rejectedRefusal(pool.run('risk', slow, { timeoutMs: 600_000, givenUp: leaving.signal })),
      )
      const waiting = pool.run('risk', quick, { timeoutMs: 1_000, givenUp: neverDisconnects() })
      vi.advanceTimersByTime(10_000)
      leaving.abort()
      expect(await waiting).toContain(done)
      await Promise.all(ahead)
    } finally {
      vi.useRealTimers()
    }
  })

  test('a computation that waits too long is refused', async () => {
    const impatient = openStudyPool({ threads: 1, maxWaiting: 9, waitMs: 100, maxPerPrincipal: 9 })
    try {
      // The start of a thread takes longer than the wait. If it did not count, none would ever start on a slow machine.
      expect(await impatient.run('risk', quick, patient())).toContain(done)
      const leaving = new AbortController()
      const first = rejectedRefusal(impatient.run('risk', slow, { ...patient(), givenUp: leaving.signal }))
      const second = await rejectedRefusal(impatient.run('risk', quick, patient()))
      expect(second).toMatchObject({ code: 'unavailable', facts: { retryAfterSeconds: 1 } })
      expect(second.message).toContain('did not start within')
      leaving.abort()
      await first
    } finally {
      await impatient.close()
    }
  })

  test('computations that wait behind a stopped one are run', async () => {
    const single = openStudyPool({ threads: 1, maxWaiting: 9, waitMs: 60_000, maxPerPrincipal: 9 })
    try {
      for (const killed of ['by leaving', 'by its time limit']) {
        const leaving = new AbortController()
        const terms = { timeoutMs: killed === 'by leaving' ? 60_000 : 100, givenUp: leaving.signal }
        const first = rejectedRefusal(single.run('risk', slow, terms))
        const behind = [1, 2, 3].map(() => single.run('risk', quick, patient()))
        if (killed === 'by leaving') setTimeout(() => leaving.abort(), 100)
        await first
        expect(await Promise.all(behind)).toHaveLength(3)
      }
    } finally {
      await single.close()
    }
  })

  test('a pool that closes stops its computations, and accepts no more', async () => {
    const run = rejectedRefusal(pool.run('risk', slow, patient()))
    await pool.close()
    expect((await run).message).toContain('stopping')
    expect((await rejectedRefusal((async () => pool.run('risk', quick, patient()))())).message).toContain(
      'stopping',
    )
  })
})
