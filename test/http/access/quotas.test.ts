import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Principal } from '../../../src/http/access/principal.ts'
import { createQuotas } from '../../../src/http/access/quotas.ts'

const ada: Principal = { name: 'ada', role: 'analyst' }
const DEFAULTS = { requestsPerMinute: 60, burst: 3, concurrentRequests: 100 }

function quotasAt(defaults = DEFAULTS) {
  const clock = { nowMs: 0 }
  return { clock, quotas: createQuotas(defaults, () => clock.nowMs) }
}

test('a principal may send its burst at once, then one request for each token', () => {
  const { clock, quotas } = quotasAt()
  const kinds = (times: number) => Array.from({ length: times }, () => quotas.admit(ada).kind)
  expect(kinds(4)).toEqual(['admitted', 'admitted', 'admitted', 'rate-limited'])
  clock.nowMs += 999
  expect(quotas.admit(ada)).toMatchObject({ kind: 'rate-limited', retryAfterSeconds: 1 })
  clock.nowMs += 1
  expect(kinds(2)).toEqual(['admitted', 'rate-limited'])
  clock.nowMs += 3_600_000
  expect(kinds(4)).toEqual(['admitted', 'admitted', 'admitted', 'rate-limited'])
})

test('over any time a principal gets at most its burst and the tokens of that time', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 5_000 }), { maxLength: 200 }), (pausesMs) => {
      const { clock, quotas } = quotasAt()
      const admittedAtMs: number[] = []
      for (const pauseMs of pausesMs) {
        clock.nowMs += pauseMs
        if (quotas.admit(ada).kind === 'admitted') admittedAtMs.push(clock.nowMs)
      }
      for (const [from, fromMs] of admittedAtMs.entries())
        for (const [to, toMs] of admittedAtMs.entries())
          if (to >= from) expect(to - from + 1).toBeLessThanOrEqual(3 + (toMs - fromMs) / 1_000 + 1e-6)
    }),
  )
})

test('the quota of a key replaces the defaults, field by field', () => {
  const { quotas } = quotasAt()
  const generous: Principal = { ...ada, quota: { burst: 5 } }
  const kinds = Array.from({ length: 6 }, () => quotas.admit(generous).kind)
  expect(kinds).toEqual([...Array(5).fill('admitted'), 'rate-limited'])
  expect(quotas.admit({ name: 'ben', role: 'analyst', quota: { concurrentRequests: 0 } }).kind).toBe(
    'too-many',
  )
})

test('requests under way are counted until they end, once each', () => {
  const { quotas } = quotasAt({ requestsPerMinute: 60, burst: 100, concurrentRequests: 2 })
  const first = quotas.admit(ada)
  const second = quotas.admit(ada)
  expect(quotas.admit(ada)).toMatchObject({ kind: 'too-many', concurrentRequests: 2 })
  if (first.kind !== 'admitted' || second.kind !== 'admitted') throw new Error('both are admitted')
  first.end()
  first.end()
  expect(quotas.admit(ada).kind).toBe('admitted')
  expect(quotas.admit(ada).kind).toBe('too-many')
})

test('a principal that is forgotten for being idle gains nothing by it', () => {
  const { clock, quotas } = quotasAt({ requestsPerMinute: 1, burst: 3, concurrentRequests: 1 })
  for (let sent = 0; sent < 3; sent += 1) {
    const decision = quotas.admit(ada)
    if (decision.kind === 'admitted') decision.end()
  }
  clock.nowMs += 61_000
  for (let other = 0; other < 1_500; other += 1) quotas.admit({ name: `other-${other}`, role: 'analyst' })
  // One token since then.
  expect(quotas.admit(ada).kind).toBe('admitted')
  expect(quotas.admit(ada).kind).not.toBe('admitted')
})

test('a request takes a token for each started 64 KiB of its body, and at most the burst or 16', () => {
  const { quotas } = quotasAt({ ...DEFAULTS, burst: 20 })
  const remaining = (bodyBytes: number) => quotas.admit(ada, bodyBytes).rate.remaining
  expect([0, 65_536, 65_537].map(remaining)).toEqual([19, 18, 16])
  expect(remaining(1e9)).toBe(0)
  expect(quotas.admit(ada, 65_537)).toMatchObject({ kind: 'rate-limited', retryAfterSeconds: 2 })
  expect(quotasAt().quotas.admit(ada, 1e9).kind).toBe('admitted')
})
