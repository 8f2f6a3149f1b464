import { describe, expect, it } from 'vitest'
import { sha256 } from '../../src/ledger/canonical.ts'
import { eventAmount, eventLoss } from '../../src/ledger/event.ts'
import { amountBoughtBy } from '../../src/privacy/accounting.ts'
import { type Load, type SourceChange, withChangedSource } from '../mutants/changed-source.ts'
import { fixtureInMemory, type StoreSource } from './fixture.ts'
import { loss, question, rho } from './support.ts'
import { chain } from './verification/sample-history.ts'
import type { VerificationSource } from './verification/verification-test.ts'

/** The rho that (1, 1e-6) buys, which was granted before. */
const CAP = rho('0.024355970359')
const LEAST = rho('0.000000000001')

/** Conversion of another release, under which all grants together buy less than the first did. */
const BLUNTER: SourceChange = {
  file: 'privacy/accounting.ts',
  find: 'rhoPico: rhoBoughtBy(granted) }',
  replace: 'rhoPico: granted.epsilonNano > 1_000_000_000n ? rhoPico(5n) : rhoBoughtBy(granted) }',
}

/** A grant does not lower a cap, and the granted amount can be spent to the last unit. */
async function expectCapStays(load: Load): Promise<void> {
  const { verifyLedger } = await load<VerificationSource>('ledger/verification.ts')
  const { ledger } = fixtureInMemory(await load<StoreSource>('ledger/sqlite/store.ts'))
  await ledger.openBudget(
    'census',
    { accounting: 'zcdp', neighbours: 'add-remove', granted: loss('1', '0.000001') },
    'carol',
  )
  const granted = loss('2', '0.000001')
  const budget = await ledger.grant('census', loss('1'), 'carol', 'more')
  expect(budget).toEqual({ granted, cap: CAP, spent: rho('0') })
  expect((await ledger.charge(question('all of it', { price: CAP }))).kind).toBe('charged')
  expect((await ledger.charge(question('more', { price: LEAST }))).kind).toBe('denied')
  expect(await verifyLedger(ledger, 'census')).toMatchObject({ kind: 'sound', budget: { granted, cap: CAP } })
}

/** Verification accepts a grant that left the cap unchanged, but not one that raised it. */
async function expectCapBelieved(load: Load): Promise<void> {
  const { createVerifier } = await load<VerificationSource>('ledger/protocol/verifier/verifier.ts')
  const found = (rhoPico: bigint) => {
    const first = { loss: eventLoss(loss('1', '0.000001')), limit: eventAmount(CAP) }
    const second = { loss: eventLoss(loss('1')), limit: { rhoPico: String(rhoPico) } }
    const verifier = createVerifier('census')
    for (const event of chain('census', [
      {
        ...{ kind: 'opened', principal: 'carol', accounting: 'zcdp', ...first },
        ...{ neighbours: 'add-remove', synthetic: false },
      },
      { kind: 'granted', principal: 'carol', reason: 'more', ...second },
    ]))
      verifier.add(event, sha256(event.canonical))
    return verifier.result()
  }
  expect(found(24_355_970_359n)).toMatchObject({ kind: 'sound', budget: { cap: CAP } })
  expect(found(24_355_970_360n)).toMatchObject({ kind: 'broken', sequence: 2 })
  expect(found(24_355_970_358n)).toMatchObject({ kind: 'broken', sequence: 2 })
  expect(found(5n)).toMatchObject({ kind: 'broken', sequence: 2 })
}

describe('if the grants together convert to less than the cap that was granted before', () => {
  it('the cap stays', () => withChangedSource([BLUNTER], {}, expectCapStays))
  it('verification accepts an unchanged cap, and no larger one', () =>
    withChangedSource([BLUNTER], {}, expectCapBelieved))

  it('(and (1, 0.000001) buys exactly this amount by the current conversion)', () => {
    expect(amountBoughtBy('zcdp', loss('1', '0.000001'))).toEqual(CAP)
  })

  it.each([
    {
      bug: 'a grant that takes back',
      change: {
        file: 'ledger/protocol/budgets.ts',
        find: 'coversAmount(bought, before.budget.cap) ? bought : before.budget.cap',
        replace: 'bought',
      },
      dies: expectCapStays,
    },
    {
      bug: 'a cap that stayed is a forgery',
      change: {
        file: 'ledger/replay.ts',
        find: 'isSameAmount(cap, budget.cap) || covers',
        replace: 'covers',
      },
      dies: expectCapBelieved,
    },
    {
      bug: 'any cap is believed that is not lower',
      change: {
        file: 'ledger/replay.ts',
        find: 'isSameAmount(cap, budget.cap) || covers',
        replace: 'coversAmount(cap, budget.cap) || covers',
      },
      dies: expectCapBelieved,
    },
  ])('$bug: a mutant that dies', async ({ change, dies }) => {
    const died = withChangedSource([BLUNTER, change], {}, (load) =>
      dies(load).then(
        () => false,
        () => true,
      ),
    )
    expect(await died).toBe(true)
  })
})
