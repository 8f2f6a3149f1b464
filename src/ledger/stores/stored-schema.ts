import { LedgerFault } from '../fault.ts'

/** The schema of a store, an `.sql` file, with its version. */
export interface StoredSchema {
  /** 1 or greater. Raised with every change. */
  readonly version: number
  /** The statements that create it in an empty store. */
  readonly sql: string
  /** The statements that lead from a version to the next one, by the version from which they lead. None before 1.0. */
  readonly steps: ReadonlyMap<number, string>
}

/**
 * Returns the statements that bring a store to the version of this release.
 * @param found the version of the store; 0 if it is empty
 * @param store the store, as the message names it
 * @throws LedgerFault `unusable` if the store is of another version from which no steps lead to this one.
 */
export function statementsFor(
  found: number,
  { version, sql, steps }: StoredSchema,
  store: string,
): readonly string[] {
  if (found === 0) return [sql]
  const missing = Array.from({ length: Math.max(version - found, 0) }, (_, place) => steps.get(found + place))
  const known = missing.filter((step) => step !== undefined)
  if (found > version || known.length < missing.length) {
    throw new LedgerFault(
      'unusable',
      `${store} has schema version ${found}; this release of Sotto uses version ${version} only`,
    )
  }
  return known
}
