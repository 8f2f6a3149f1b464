import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')

/** Changed files, relative to the project; `undefined` if all mutants run. */
const changed: readonly string[] | undefined =
  process.env.SOTTO_TEST_CHANGED === undefined ? undefined : JSON.parse(process.env.SOTTO_TEST_CHANGED)

/**
 * Selects the mutants to test: all, or with `npm run test:long -- --changed` those whose source file changed. Also
 * selects all if a file in the folder of their tests changed.
 *
 * @param folder the folder of their tests, `import.meta.dirname`
 * @param filesOf the source files that a mutant changes, by path below src/
 */
export function selectMutants<Mutant>(
  folder: string,
  mutants: readonly Mutant[],
  filesOf: (mutant: Mutant) => readonly string[],
): readonly Mutant[] {
  if (changed === undefined) return mutants
  const tests = `${path.relative(root, folder)}/`
  if (changed.some((file) => file.startsWith(tests))) return mutants
  return mutants.filter((mutant) => filesOf(mutant).some((file) => changed.includes(`src/${file}`)))
}
