import { expect, test } from 'vitest'
import { chargeId } from '../../src/ledger/canonical.ts'
import { describeEachStore } from '../ledger/stores.ts'
import { expectNothingLost } from './balance-check.ts'
import type { Messages } from './children.ts'
import { budgetFor, costOf, keyOf, questionOf } from './questions.ts'
import { type Chance, chance, roundCount, roundCounter } from './rounds.ts'

/*
 * The clock of the leases may be set to any time at any moment. On SQLite it is the clock of the process, on PostgreSQL
 * that of the server, for all replicas. The tests replace both.
 */

const LEASE_MS = 1_000

/** From a millisecond to years, ahead and back. */
const JUMPS_MS = [1, LEASE_MS - 1, LEASE_MS, LEASE_MS + 1, 3_600_000, 86_400_000, 5 * 365 * 86_400_000]

describeEachStore('a clock', (store) => {
  test('that is set back while a question is under way: the retry continues under the same charge, and the first attempt is fenced', async () => {
    const { clock, ledger } = await store.openFixture()
    await ledger.openBudget('census', budgetFor(10), 'carol')
    const first = await ledger.charge(questionOf('census', 'a', LEASE_MS))
    clock.ms -= 3_600_000
    const second = await ledger.charge(questionOf('census', 'a', LEASE_MS))
    expect([first, second]).toMatchObject([
      { kind: 'charged', charge: { attempt: 1 } },
      { kind: 'charged', charge: { attempt: 2 } },
    ])
    const id = chargeId('ada', 'a')
    expect(await ledger.recordAnswer(id, 1, 'late')).toBe(false)
    expect(await ledger.recordAnswer(id, 2, 'counts')).toBe(true)
    expect((await ledger.budget('census'))?.spent).toEqual(costOf(1))
  })

  test('that is set ahead ends every lease, and nothing is charged twice', async () => {
    const { clock, ledger } = await store.openFixture()
    await ledger.openBudget('census', budgetFor(10), 'carol')
    await ledger.charge(questionOf('census', 'a', 86_400_000))
    expect(await ledger.charge(questionOf('census', 'a', LEASE_MS))).toMatchObject({ kind: 'in-flight' })
    clock.ms += 2 * 86_400_000
    expect(await ledger.charge(questionOf('census', 'a', LEASE_MS))).toMatchObject({ kind: 'charged' })
    expect(await ledger.recordAnswer(chargeId('ada', 'a'), 1, 'late')).toBe(false)
    expect((await ledger.budget('census'))?.spent).toEqual(costOf(1))
  })

  test.for([Number.NaN, -1, 1.5, 8_640_000_000_000_001])(
    'that returns no valid time (%d) causes a refusal, and nothing changes',
    async (ms) => {
      const { clock, ledger } = await store.openFixture()
      const before = clock.ms
      await ledger.openBudget('census', budgetFor(10), 'carol')
      clock.ms = ms
      await expect(ledger.charge(questionOf('census', 'a', LEASE_MS))).rejects.toThrow(
        'the time of the clock is out of range',
      )
      clock.ms = before
      expect(await ledger.charge(questionOf('census', 'a', LEASE_MS))).toMatchObject({ kind: 'charged' })
      expect((await ledger.head('census'))?.sequence).toBe(2)
    },
  )

  test('that jumps at every step causes no loss and no double charge', async () => {
    const random = chance('clock')
    const counted = roundCounter(`a clock that jumps at every step, ${store.name}`)
    for (let round = 1; round <= roundCount(store.name === 'SQLite' ? 10 : 2); round += 1) {
      const place = await store.openFixture()
      const { clock } = place
      const replicas = [place.ledger, await place.another()]
      await place.ledger.openBudget('census', budgetFor(20), 'carol')
      const heard = new Map<string, Messages>()
      const attempts: { key: string; id: string; attempt: number }[] = []
      for (let step = 0; step < 150; step += 1) {
        jump(clock, random)
        const ledger = random.oneOf(replicas)
        if (attempts.length > 0 && random.below(3) === 0) {
          const { key, id, attempt } = random.oneOf(attempts)
          const answer = `answer-${step}`
          const of = heard.get(key)
          of?.computed.add(answer)
          if (await ledger.recordAnswer(id, attempt, answer)) {
            expect(of?.answer, `${key} has been answered before`).toBeUndefined()
            if (of !== undefined) of.answer = answer
          }
          continue
        }
        const key = keyOf('question', random.below(25))
        const of = heard.get(key) ?? { charged: false, denied: false, computed: new Set<string>() }
        heard.set(key, of)
        const outcome = await ledger.charge(questionOf('census', key, LEASE_MS))
        if (outcome.kind === 'charged') {
          of.charged = true
          attempts.push({ key, id: outcome.charge.id, attempt: outcome.charge.attempt })
        }
        if (outcome.kind === 'denied') of.denied = true
        if (outcome.kind === 'answered') expect(outcome.answer).toBe(of.answer)
      }
      // The check repeats questions until their leases expire.
      const ticking = setInterval(() => jump(clock, random), 1)
      counted.add({ rounds: 1, ...(await expectNothingLost(place.ledger, 'census', heard, 20)) })
      clearInterval(ticking)
      await place.close()
    }
  })
})

function jump(clock: { ms: number }, random: Chance): void {
  const by = random.oneOf(JUMPS_MS) * (random.below(2) === 0 ? -1 : 1)
  clock.ms = Math.max(0, clock.ms + by)
}
