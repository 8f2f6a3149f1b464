import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, or that wait for most of their time, in the order in which they start. The others follow by
 * their size, or by their time in an earlier run of the same clone. A long file that starts last leaves the other processes idle.
 */
const FIRST = [
  'engines/trino/trino.all.test.ts',
  'deploy/image.all.test.ts',
  'release/release.all.test.ts',
  'e2e/http/schemathesis.all.test.ts',
  'clients/python.all.test.ts',
  'clients/r.all.test.ts',
  'engines/postgres/conformance.all.test.ts',
  'deploy/rolling-restart.all.test.ts',
  'ledger/model/interleavings.all.test.ts',
  'deploy/promtool.all.test.ts',
]

/** Starts the longest files first. Vitest asks for a class. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map(
      FIRST.map((name, place) => [path.resolve(import.meta.dirname, name), place] as const),
    )
    const placeOf = ({ moduleId }: TestSpecification) => places.get(moduleId) ?? FIRST.length
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
