import { expect } from 'vitest'
import { chargeId } from '../../../../src/ledger/canonical.ts'
import { basic, chargeOf, question } from '../../support.ts'
import { type ContractTest, contractTest, kindsOf, spentOf, withCensus } from '../contract-test.ts'

/** Requirements on recorded answers and failures. */
export const ANSWERS: readonly ContractTest[] = [
  contractTest('an answer is replayed byte for byte, even if the price has changed', async (fixture) => {
    const ledger = await withCensus(fixture)
    const answer = '{"value":1,"text":"\\u0000 ü 💧 \u2028 \\u2028"}'
    const { id } = chargeOf(await ledger.charge(question('a')))
    expect(await ledger.recordAnswer(id, 1, answer)).toBe(true)
    expect(await ledger.recordAnswer(id, 1, 'another')).toBe(false)
    for (const keyChosen of [false, true]) {
      const again = await ledger.charge(question('a', { price: basic('0.5'), keyChosen, sharing: true }))
      expect(again).toEqual({ kind: 'answered', id, answer })
    }
    expect(await ledger.release(id)).toEqual({ id, dataset: 'census', principal: 'ada', answer })
    expect(await ledger.release(chargeId('ada', 'b'))).toBeUndefined()
    expect(await spentOf(ledger)).toEqual(basic('0.1'))
    expect(await kindsOf(ledger)).toEqual(['opened', 'charged', 'answered'])
  }),
  contractTest('a failed charge can be retried at once and stays debited', async (fixture) => {
    const ledger = await withCensus(fixture)
    const { id } = chargeOf(await ledger.charge(question('a')))
    await ledger.recordFailure(id, 7)
    expect((await ledger.charge(question('a'))).kind).toBe('in-flight')
    await ledger.recordFailure(id, 1)
    expect(await ledger.recordAnswer(id, 1, 'x')).toBe(false)
    expect(await spentOf(ledger)).toEqual(basic('0.1'))
    expect(chargeOf(await ledger.charge(question('a'))).attempt).toBe(2)
    await ledger.recordFailure(id, 1)
    expect(await ledger.recordAnswer(id, 2, 'x')).toBe(true)
    await ledger.recordFailure(id, 2)
    expect((await ledger.release(id))?.answer).toBe('x')
    expect(await ledger.recordAnswer(chargeId('ada', 'never'), 1, 'x')).toBe(false)
    await ledger.recordFailure(chargeId('ada', 'never'), 1)
    expect(await kindsOf(ledger)).toEqual(['opened', 'charged', 'failed', 'retried', 'answered'])
  }),
]
