import { afterAll, beforeAll, expect, it } from 'vitest'
import { chargeId } from '../../../src/ledger/canonical.ts'
import { roundCounter } from '../../reliability/rounds.ts'
import { describePostgres } from '../../servers/postgres.ts'
import { basic, question, summed } from '../support.ts'
import { openRaceRunner, RACES, type RaceRunner } from './races.ts'

describePostgres('every interleaving of the statements of two replicas', (databases) => {
  let runner: RaceRunner

  beforeAll(async () => {
    runner = await openRaceRunner(await databases.createDatabase())
  })
  afterAll(() => runner?.close())

  it.each(RACES)('$name', async (race) => {
    const counts = roundCounter(`statements of two replicas: ${race.name}`)
    const { outcomes, orders } = await runner.outcomesOf(race)
    counts.add({ interleavings: orders })
    expect(outcomes).toEqual(race.outcomes)
    // A replica that waits for a lock is not a choice. Without a common lock, all merges of four statements occur.
    if (race.name === 'two datasets are charged, each by one') expect(orders).toBe(70)
    else expect(orders).toBeGreaterThan(4)
  })

  it('the shared release is the first one in the chain', async () => {
    const { observer, replicas } = runner
    const [one, other] = replicas
    for (const first of [one, other]) {
      const dataset = first === one ? 'shared' : 'shared too'
      await observer.openBudget(dataset, summed('1'), 'carol')
      const asked = (principal: string) =>
        question(dataset, { dataset, principal, sharing: true, price: basic('0.1') })
      for (const principal of ['ada', 'bob', 'eve']) await observer.charge(asked(principal))
      const second = first === one ? other : one
      const answers = [
        first.ledger.recordAnswer(chargeId('ada', dataset), 1, 'for ada'),
        second.ledger.recordAnswer(chargeId('bob', dataset), 1, 'for bob'),
      ]
      expect(await Promise.all(answers)).toEqual([true, true])
      const entries = await observer.entries(dataset, { limit: 2 })
      const [later, earlier] = entries
      expect(later?.kind).toBe('answered')
      const outcome = await observer.charge(asked('fay'))
      expect(outcome).toMatchObject({ kind: 'shared', shared: { id: earlier?.chargeId } })
    }
  })
})
