import { describe, test } from 'vitest'
import type { Fixture } from '../fixture.ts'
import type { StoreUnderTest } from '../stores.ts'
import { expectConsistentLedger } from '../support.ts'
import { CONCURRENCY } from './concurrency.ts'
import { ACTS } from './operations/acts.ts'
import { ALLOTMENTS } from './operations/allotments.ts'
import { ANSWERS } from './operations/answers.ts'
import { BUDGETS } from './operations/budgets.ts'
import { CHARGES } from './operations/charges.ts'
import { DENIALS } from './operations/denials.ts'
import { HISTORY } from './operations/history.ts'
import { POPULATION_SUMS } from './operations/population-sums.ts'
import { POPULATIONS } from './operations/populations.ts'
import { RELEASES } from './operations/releases.ts'
import { SESSIONS } from './operations/sessions.ts'
import { SHARING } from './operations/sharing.ts'
import { SOURCES } from './operations/sources.ts'
import { STORAGE } from './operations/storage.ts'
import { SUSPENSION } from './operations/suspension.ts'

/** The requirements that every ledger must meet, with any store. */
const CONTRACT = [
  { topic: 'budgets', tests: BUDGETS },
  { topic: 'charges', tests: CHARGES },
  { topic: 'denials', tests: DENIALS },
  { topic: 'answers', tests: ANSWERS },
  { topic: 'allotments', tests: ALLOTMENTS },
  { topic: 'sharing', tests: SHARING },
  { topic: 'history', tests: HISTORY },
  { topic: 'populations', tests: [...POPULATIONS, ...POPULATION_SUMS] },
  { topic: 'releases', tests: RELEASES },
  { topic: 'concurrency', tests: CONCURRENCY },
  { topic: 'sessions', tests: SESSIONS },
  { topic: 'suspension', tests: SUSPENSION },
  { topic: 'sources', tests: SOURCES },
  { topic: 'acts', tests: ACTS },
  { topic: 'storage', tests: STORAGE },
] as const

/** Registers the contract as tests of a store. */
export function describeContract(store: StoreUnderTest): void {
  describe.each(CONTRACT)('$topic', ({ tests }) => {
    test.each(tests)('$name', async (each) => {
      const fixture = await store.openFixture()
      await each.run(fixture)
      await expectConsistentLedger(fixture.ledger)
    })
  })
}

/**
 * Runs tests of the contract until one fails.
 * @param names the tests to run; by default all
 * @returns the name of the failed test, or `undefined` if all passed
 * @throws Error if no test has one of the names; ReferenceError if the source under test does not run
 */
export async function failedContractTest(
  openFixture: () => Promise<Fixture & { close?(): Promise<void> }>,
  names?: readonly string[],
): Promise<string | undefined> {
  const tests = CONTRACT.flatMap(({ tests }) => tests)
  for (const name of new Set(names ?? tests.map(({ name }) => name))) {
    const found = tests.find((each) => each.name === name)
    if (found === undefined) throw new Error(`the contract has no test "${name}"`)
    const fixture = await openFixture()
    try {
      await found.run(fixture)
      await expectConsistentLedger(fixture.ledger)
    } catch (error) {
      // A mutant must fail a test, not crash: an undefined name would fail every test.
      if (error instanceof ReferenceError) throw error
      return name
    } finally {
      await fixture.close?.()
    }
  }
  return undefined
}
