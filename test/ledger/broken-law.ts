import { LEDGER_LAWS } from './laws.ts'
import type { Place } from './places.ts'
import { SESSION_LAWS } from './session-laws.ts'
import { expectSoundBooks } from './support.ts'

const LAWS = [...LEDGER_LAWS, ...SESSION_LAWS]

/**
 * The name of the first law of the ledger that does not hold in fresh places of a store, if there is one.
 * @param names of those to try; left out, all of them
 * @throws Error where a name is none of a law
 */
export async function brokenLaw(
  freshPlace: () => Promise<Place & { close?(): Promise<void> }>,
  names: readonly string[] = LAWS.map(({ name }) => name),
): Promise<string | undefined> {
  for (const name of new Set(names)) {
    const law = LAWS.find((each) => each.name === name)
    if (law === undefined) throw new Error(`there is no law "${name}"`)
    const place = await freshPlace()
    try {
      await law.holds(place)
      await expectSoundBooks(place.ledger)
    } catch (error) {
      // A mutant must fail a test, not crash: an undefined name would fail every test.
      if (error instanceof ReferenceError) throw error
      return law.name
    } finally {
      await place.close?.()
    }
  }
  return undefined
}
