import { describe } from 'vitest'

/** True in `npm run test:all`, which runs all cases of the files `*.cases.test.ts`; `npm test` runs a part of them. */
export const ALL = process.env.SOTTO_TEST_CASES === 'all'

/** The number of random cases to run, out of this number: a tenth in `npm test`. */
export function cases(all: number): number {
  return ALL ? all : Math.ceil(all / 10)
}

/** The listed cases to run: every fifth in `npm test`, and the others in `npm run test:all`. */
export function someOf<const Case>(all: readonly Case[]): readonly Case[] {
  return all.filter((_, place) => (place % 5 === 0) !== ALL)
}

/** Describes tests without cases, which `npm test` runs completely: `npm run test:all` does not repeat them. */
export function describeOnce(title: string, tests: () => void): void {
  if (!ALL) describe(title, tests)
}
