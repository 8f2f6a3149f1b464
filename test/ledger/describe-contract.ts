import { describe, test } from 'vitest'
import { LEDGER_LAWS } from './laws.ts'
import { SESSION_LAWS } from './session-laws.ts'
import type { StoreUnderTest } from './stores.ts'
import { expectSoundBooks } from './support.ts'

/** Describes what a ledger must do on any store. */
export function describeContract(store: StoreUnderTest): void {
  describe.each([
    { of: 'budgets, charges, allotments and sharing', laws: LEDGER_LAWS },
    { of: 'sparse vector sessions', laws: SESSION_LAWS },
  ])('of $of', ({ laws }) => {
    test.each(laws)('$name', async (law) => {
      const place = await store.freshPlace()
      await law.holds(place)
      await expectSoundBooks(place.ledger)
    })
  })
}
