import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { changedTexts, type SourceChange } from './changed-source.ts'
import { fileWith } from './source-places.ts'

/** A change to the source and the bug that it makes. */
export interface Mutant extends SourceChange {
  readonly bug: string
}

/** Returns the function that makes mutants of a file, named as in {@link SourceChange}. */
export const mutantsIn =
  (file: string) =>
  (bug: string, find: string, replace: string): Mutant => ({ bug, file, find, replace })

/**
 * Describes tests that the unchanged source breaks no requirement, and every mutant one.
 *
 * @param folder the folder of the tests, `import.meta.dirname`
 * @param brokenBy names a requirement that a changed source breaks; `undefined` if it breaks none
 */
export function describeMutants(
  title: string,
  folder: string,
  mutants: readonly Mutant[],
  brokenBy: (changes: readonly SourceChange[]) => Promise<string | undefined>,
): void {
  describe(title, () => {
    it('the unchanged source breaks none', async () => {
      expect(await brokenBy([])).toBeUndefined()
    })
    it.each(selectMutants(folder, mutants, (mutant) => [mutant]))('$bug ($file)', async (mutant) => {
      expect(await brokenBy([mutant])).toBeDefined()
    })
  })
}

const root = path.resolve(import.meta.dirname, '../..')

/** Changed files, relative to the project; `undefined` if all mutants run. */
const changed: readonly string[] | undefined =
  process.env.SOTTO_TEST_CHANGED === undefined ? undefined : JSON.parse(process.env.SOTTO_TEST_CHANGED)

/**
 * Selects the mutants to test: all, or with `npm run test:long -- --changed` those whose source file changed. Also
 * selects all if a file in the folder of their tests changed.
 *
 * @param folder the folder of their tests, `import.meta.dirname`
 * @param changesOf the changes that make a mutant
 * @throws Error unless the place of every change is found, whether it is selected or not
 */
export function selectMutants<Mutant>(
  folder: string,
  mutants: readonly Mutant[],
  changesOf: (mutant: Mutant) => readonly SourceChange[],
): readonly Mutant[] {
  for (const mutant of mutants) placed(changesOf(mutant))
  if (changed === undefined) return mutants
  const tests = `${path.relative(root, folder)}/`
  if (changed.some((file) => file.startsWith(tests))) return mutants
  return mutants.filter((mutant) =>
    changesOf(mutant).some(({ find, file }) => changed.includes(`src/${fileWith(find, file)}`)),
  )
}

/**
 * Checks that the places of changes are found, when their test file is loaded; returns the changes.
 * `places.test.ts` loads all such files.
 *
 * @throws Error naming the file and the text of a place that is not found
 */
export function placed<Changes extends readonly SourceChange[]>(changes: Changes): Changes {
  changedTexts(changes)
  return changes
}
