import seedrandom from 'seedrandom'
import { onTestFinished } from 'vitest'
import type { Counts } from './balance-check.ts'

/** Number of rounds of each test that runs in rounds. It is set for a long run, in which sweeps take every step. */
const wanted = process.env.SOTTO_TEST_ROUNDS

/** Number of rounds without effect after which a test fails. */
const MOST_ROUNDS = 40

/** True if sweeps take every step, of which `npm test` takes samples. */
export const isLongRun = wanted !== undefined

/** Number of rounds: `usual`, or SOTTO_TEST_ROUNDS if it is set. */
export function roundCount(usual: number): number {
  return wanted === undefined ? usual : Number(wanted)
}

/** Random numbers of a test. A failure prints the seed, and `SOTTO_TEST_SEED` sets it. */
export interface Chance {
  /** From 0, included, to `end`, excluded. */
  below(end: number): number
  oneOf<Item>(items: readonly Item[]): Item
}

/** @param test names the test among those that share a seed */
export function chance(test: string): Chance {
  const seed = process.env.SOTTO_TEST_SEED ?? String(Date.now())
  const random = seedrandom(`${seed} ${test}`)
  onTestFinished(({ task }) => {
    if (task.result?.state === 'fail') console.error(`${test}: SOTTO_TEST_SEED=${seed}`)
  })
  const below = (end: number) => Math.floor(random() * end)
  return {
    below,
    oneOf(items) {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('there is nothing to choose from')
      return item
    },
  }
}

/**
 * True if another round is needed: until the requested number is reached, something was interrupted, and something was
 * acknowledged before. Otherwise the rounds would test nothing.
 */
export function needsAnotherRound(
  round: number,
  wantedRounds: number,
  counted: ReturnType<typeof roundCounter>,
): boolean {
  const tested = counted.of('interrupted') > 0 && counted.of('acknowledged') > 0
  return round <= wantedRounds || (!tested && round <= MOST_ROUNDS)
}

/** Adds up what the rounds of a test counted, and prints it in a long run. */
export function roundCounter(test: string) {
  const sums = new Map<string, number>()
  onTestFinished(({ task }) => {
    if (!isLongRun) return
    const line = [...sums].map(([name, sum]) => `${name} ${sum}`).join(', ')
    console.log(`counted: ${test}: ${line} (${task.result?.state ?? 'run'})`)
  })
  return {
    add(counts: Counts | Readonly<Record<string, number>>): void {
      for (const [name, count] of Object.entries(counts)) sums.set(name, (sums.get(name) ?? 0) + count)
    },
    of: (name: keyof Counts | (string & {})): number => sums.get(name) ?? 0,
  }
}
