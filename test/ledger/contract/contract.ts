import { describe, test } from 'vitest'
import type { Fixture } from '../fixture.ts'
import type { StoreUnderTest } from '../stores.ts'
import { expectConsistentLedger } from '../support.ts'
import { ACTS } from './acts.ts'
import { ALLOTMENTS } from './allotments.ts'
import { ANSWERS } from './answers.ts'
import { BUDGETS } from './budgets.ts'
import { CHARGES } from './charges.ts'
import { CONCURRENCY } from './concurrency.ts'
import { DENIALS } from './denials.ts'
import { HISTORY } from './history.ts'
import { RELEASES } from './releases.ts'
import { SESSIONS } from './sessions.ts'
import { SHARING } from './sharing.ts'
import { SOURCES } from './sources.ts'
import { STORAGE } from './storage.ts'
import { SUSPENSION } from './suspension.ts'

/** The requirements that every ledger must meet, with any store. */
const CONTRACT = [
  { topic: 'budgets', tests: BUDGETS },
  { topic: 'charges', tests: CHARGES },
  { topic: 'denials', tests: DENIALS },
  { topic: 'answers', tests: ANSWERS },
  { topic: 'allotments', tests: ALLOTMENTS },
  { topic: 'sharing', tests: SHARING },
  { topic: 'history', tests: HISTORY },
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
