import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'

/** A change to the one file that is imported. */
export type Mutation = Omit<SourceChange, 'file'>

/**
 * Imports a copy of one of the folder's source files with these changes.
 *
 * @param standIns texts of files of the folder that replace others, by name; the originals are next to them as
 * `<name>-as-it-is.ts`.
 * @throws Error unless the text to change occurs exactly once.
 */
export function importMechanism<Module>(
  name: string,
  mutations: readonly Mutation[] = [],
  standIns: Readonly<Record<string, string>> = {},
): Promise<Module> {
  const file = (of: string) => `core/mechanisms/${of}.ts`
  return withChangedSource(
    mutations.map((mutation) => ({ ...mutation, file: file(name) })),
    Object.fromEntries(Object.entries(standIns).map(([replaced, text]) => [file(replaced), text])),
    (load) => load<Module>(file(name)),
  )
}
