import fc from 'fast-check'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import * as asItIs from '../../../../src/core/planner/identity/disjoint.ts'
import type { Predicate } from '../../../../src/core/planner/language/aggregate.ts'
import { type SourceChange, withChangedSource } from '../../../mutants/changed-source.ts'
import { placesOf, sourceFile, sourceText } from '../../../mutants/source-places.ts'
import { overlapInTruth, type PredicatePair, pairsOf, predicates, small } from './predicate-pairs.ts'

/** True if a version of the search proves that no unit (or row) satisfies both predicates. */
export function areDisjoint(
  pair: readonly [Predicate | undefined, Predicate | undefined],
  dataset: Dataset,
  subject: asItIs.Disjoint = 'units',
  { disjointness }: Pick<typeof asItIs, 'disjointness'> = asItIs,
): boolean {
  return disjointness(pair, dataset, subject)(0, 1)
}

/** Holds where the column Note is this text. */
export function text(value: string): Predicate {
  return { kind: 'string-in', column: 'Note', values: [value] }
}

/** Up to three operands, three deep: never more boxes than the search keeps. */
export const SMALL_PAIRS = pairsOf(predicates(3, 2))
/** Far more boxes than the search keeps. */
export const LARGE_PAIRS = pairsOf(predicates(6, 4))

/** Samples of pairs, each with whether some possible row satisfies both. */
export const sampled = (arbitrary: fc.Arbitrary<PredicatePair>, numRuns: number) =>
  fc.sample(arbitrary, { numRuns, seed: 20_090_629 }).map((pair) => ({ pair, overlap: overlapInTruth(pair) }))

/** The search for disjoint predicates, and the sets of values that it computes with. */
const FILES = ['planner/disjoint.ts', 'planner/column-values.ts']

/** A change to the search for disjoint predicates. */
export function change(find: string, replace: string): SourceChange {
  const [file, ...others] = FILES.filter((name) => placesOf(find, sourceText(sourceFile(name))).length > 0)
  if (file === undefined || others.length > 0) throw new Error(`one file must have "${find}"`)
  return { file, find, replace }
}
/** A version that keeps two boxes. */
export const FEW_BOXES = change('const MOST_BOXES = 64', 'const MOST_BOXES = 2')
/** A version that ends its search after this number of steps. */
export const fewSteps = (steps: number) =>
  change('const MOST_STEPS = 4_000_000', `const MOST_STEPS = ${steps}`)

const at = (name: string, ...indexes: bigint[]): Predicate => ({ kind: 'index-in', column: name, indexes })
const within = (lower: bigint, upper: bigint): Predicate => ({
  kind: 'index-between',
  column: 'Age',
  lower,
  upper,
})
const ofSex = (...indexes: number[]): Predicate => ({ kind: 'category-in', column: 'Sex', indexes })
const all = (...operands: Predicate[]): Predicate => ({ kind: 'and', predicates: operands })
const any = (...operands: Predicate[]): Predicate => ({ kind: 'or', predicates: operands })
const not = (predicate: Predicate): Predicate => ({ kind: 'not', predicate })
const noScore: Predicate = { kind: 'is-null', column: 'Score' }
/** The search reaches their common value last. */
const fixed: readonly PredicatePair[] = [
  [text('\ud800'), text('\udc00')],
  [any(noScore, at('Score', 1n)), noScore],
  [any(not(text('a')), not(text(''))), text('a')],
  [any(within(0n, 3n), within(1n, 2n)), at('Age', 3n)],
  [all(any(at('Age', 0n), noScore), any(ofSex(0), text('a'))), all(at('Age', 1n, 2n, 3n), ofSex(1, 2))],
  [
    any(all(at('Age', 0n), ofSex(0)), all(at('Age', 1n), ofSex(1)), all(at('Age', 2n), ofSex(2))),
    at('Age', 2n),
  ],
]
/** Pairs of predicates with the truth about each. */
const pairs = [
  ...fixed.map((pair) => ({ pair, overlap: overlapInTruth(pair) })),
  ...sampled(SMALL_PAIRS, 1_500),
  ...sampled(LARGE_PAIRS, 200),
]

/** The pairs that a version calls disjoint: those that truly are, and those that are not. */
export const calledDisjoint = (changes: readonly SourceChange[]) =>
  withChangedSource(changes, {}, async (load) => {
    const copy = await load<typeof asItIs>('core/planner/identity/disjoint.ts')
    const disjoint = pairs.filter(({ pair }) => areDisjoint(pair, small, 'units', copy))
    return {
      right: disjoint.filter(({ overlap }) => !overlap),
      wrong: disjoint.filter(({ overlap }) => overlap),
    }
  })
