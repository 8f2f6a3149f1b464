import type { Predicate } from './aggregate.ts'

/**
 * The exact integer of a derived column, from the stored integers of other columns, which it names. Every formula is
 * total, and its integers lie within the bounds of its column: src/core/planner/language/expressions/derive.ts.
 *
 * - `sum`: floor((the sum of factor * index over the terms + offset) / divisor), which is at least `lowest`; with a cycle,
 *   the remainder of that, plus `plus`, by the length of the cycle. NULL if a term is NULL.
 * - `steps`: factor * index plus the entry of `plus` for the interval of the index: interval i holds the indexes that exactly i
 *   edges are not above. NULL for NULL.
 * - `holds`: TRUE where a predicate holds, otherwise FALSE.
 * - `case`: the branch of the first predicate that holds, or the last branch. Without one, NULL.
 */
export type Formula =
  | {
      readonly kind: 'sum'
      readonly terms: readonly Term[]
      readonly offset: bigint
      readonly divisor: bigint
      readonly lowest: bigint
      readonly cycle?: { readonly length: bigint; readonly plus: bigint }
    }
  | {
      readonly kind: 'steps'
      readonly column: string
      readonly edges: readonly bigint[]
      readonly plus: readonly bigint[]
      readonly factor: bigint
    }
  | { readonly kind: 'holds'; readonly predicate: Predicate }
  | {
      readonly kind: 'case'
      readonly cases: readonly { readonly when: Predicate; readonly branch: Branch }[]
      readonly otherwise?: Branch
    }

/** The product of a column's index and a constant. */
export interface Term {
  readonly column: string
  readonly factor: bigint
}

/** A constant, or a multiple of a column. */
export type Branch = bigint | Term

/** Predicate about one column. */
export type Comparison = Exclude<Predicate, { kind: 'and' | 'or' | 'not' }>

/** Returns the comparisons in a predicate, in their order. */
export function comparisonsIn(predicate: Predicate): readonly Comparison[] {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.predicates.flatMap(comparisonsIn)
    case 'not':
      return comparisonsIn(predicate.predicate)
    default:
      return [predicate]
  }
}

/** Returns the columns of the comparisons in a predicate, in their order. */
export function columnsOf(predicate: Predicate): readonly string[] {
  return comparisonsIn(predicate).map(({ column }) => column)
}

/** Returns the columns that a formula names. */
export function inputsOf(formula: Formula): readonly string[] {
  switch (formula.kind) {
    case 'sum':
      return formula.terms.map(({ column }) => column)
    case 'steps':
      return [formula.column]
    case 'holds':
      return columnsOf(formula.predicate)
    case 'case':
      return [
        ...formula.cases.flatMap(({ when, branch }) => [...columnsOf(when), ...branchColumns(branch)]),
        ...(formula.otherwise === undefined ? [] : branchColumns(formula.otherwise)),
      ]
  }
}

function branchColumns(branch: Branch): readonly string[] {
  return typeof branch === 'bigint' ? [] : [branch.column]
}
