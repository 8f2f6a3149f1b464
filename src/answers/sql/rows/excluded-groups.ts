import type { QueryPredicate } from '../../../../schemas/answers/query.ts'
import type { Dataset } from '../../../core/dataset/dataset.ts'
import type { GroupKey, Predicate } from '../../../core/planner/language/aggregate.ts'
import { type CellLabel, planGrouping } from '../../../core/planner/language/grouping.ts'
import { planPredicate } from '../../../core/planner/language/predicate.ts'
import type { GroupingExpression } from '../grouping.ts'

/** The values of a column that the rows of a cell can have. */
type Values =
  | { readonly kind: 'null' }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'range'; readonly lower: bigint; readonly upper: bigint }
  /** Any value, but not NULL. */
  | { readonly kind: 'present' }

/** The truth values that a predicate can have for rows of a cell, as bits. Every predicate has one of them at least. */
const CAN_BE_TRUE = 1
const CAN_BE_FALSE = 2
const BOTH = CAN_BE_TRUE | CAN_BE_FALSE

/** Returns the truth values for a cell, which is given by the places of its labels in the keys. */
type Possible = (places: readonly number[]) => number

interface Key {
  readonly name: string
  readonly placeOf: ReadonlyMap<string, number>
  readonly values: readonly (Values | undefined)[]
}

/**
 * Returns a function that is false for groups that no row can be in, because the condition excludes them. It uses the
 * declaration only, and is true where it cannot tell.
 */
export function createGroupFilter(
  where: QueryPredicate | undefined,
  groupings: readonly GroupingExpression[],
  dataset: Dataset,
): (key: Readonly<Record<string, CellLabel>>) => boolean {
  if (where === undefined || groupings.length === 0) return () => true
  const keys = groupings.map(({ name, column }): Key => {
    const { key, labels } = planGrouping(column, dataset, 'keys')
    return {
      name,
      placeOf: new Map(labels.map((label, cell) => [JSON.stringify(label), cell])),
      values: labels.map((_, cell) => valuesIn(key, cell)),
    }
  })
  const possible = compile(planPredicate(where, dataset, 'where'), keys)
  return (group) => {
    const places = keys.map(({ name, placeOf }) => placeOf.get(JSON.stringify(group[name] ?? null)) ?? -1)
    return (possible(places) & CAN_BE_TRUE) > 0
  }
}

/** The values that the rows of a cell have in the column of its key. */
function valuesIn(key: GroupKey, cell: number): Values | undefined {
  switch (key.kind) {
    case 'category':
      return cell < key.size ? { kind: 'index', index: cell } : { kind: 'null' }
    case 'boolean':
      return cell < 2 ? { kind: 'index', index: cell } : { kind: 'null' }
    case 'bins': {
      const { edges, cycle } = key
      const cells = cycle?.length ?? edges.length - 1
      if (cell >= cells) return { kind: 'null' }
      const [lower, end] = [edges[cell], edges[cell + 1]]
      if (cycle !== undefined || lower === undefined || end === undefined) return { kind: 'present' }
      return { kind: 'range', lower, upper: end - 1n }
    }
    case 'predicate':
    case 'rows-of-person':
      return undefined
  }
}

/** Compiles a predicate, so that comparisons are made once for each label and not for each cell. */
function compile(predicate: Predicate, keys: readonly Key[]): Possible {
  switch (predicate.kind) {
    case 'and':
      return conjunction(predicate.predicates.map((part) => compile(part, keys)))
    case 'or':
      return negation(conjunction(predicate.predicates.map((part) => negation(compile(part, keys)))))
    case 'not':
      return negation(compile(predicate.predicate, keys))
    default: {
      const place = keys.findIndex(({ name }) => name === predicate.column)
      const truths = keys[place]?.values.map((values) => truthsOf(predicate, values))
      return (places) => truths?.[places[place] ?? -1] ?? BOTH
    }
  }
}

function conjunction(parts: readonly Possible[]): Possible {
  return (places) => {
    let truths = CAN_BE_TRUE
    for (const part of parts) {
      const found = part(places)
      if ((found & CAN_BE_TRUE) === 0) return CAN_BE_FALSE
      truths |= found
    }
    return truths
  }
}

function negation(part: Possible): Possible {
  return (places) => {
    const truths = part(places)
    return ((truths & CAN_BE_TRUE) << 1) | ((truths & CAN_BE_FALSE) >> 1)
  }
}

function certainly(truth: boolean): number {
  return truth ? CAN_BE_TRUE : CAN_BE_FALSE
}

type Leaf = Exclude<Predicate, { kind: 'and' | 'or' | 'not' }>

function truthsOf(predicate: Leaf, values: Values | undefined): number {
  if (values === undefined) return BOTH
  if (predicate.kind === 'is-null') return certainly(values.kind === 'null')
  return values.kind === 'null' ? CAN_BE_FALSE : comparedWith(values, predicate)
}

type Comparison = Exclude<Leaf, { kind: 'is-null' }>

function comparedWith(values: Exclude<Values, { kind: 'null' }>, predicate: Comparison): number {
  switch (predicate.kind) {
    case 'index-between': {
      if (values.kind !== 'range') return BOTH
      const { lower = values.lower, upper = values.upper } = predicate
      const overlaps = lower <= values.upper && upper >= values.lower && lower <= upper
      const contains = lower <= values.lower && upper >= values.upper
      return (overlaps ? CAN_BE_TRUE : 0) | (contains ? 0 : CAN_BE_FALSE)
    }
    case 'index-in': {
      if (values.kind !== 'range') return BOTH
      const within = predicate.indexes.some((index) => index >= values.lower && index <= values.upper)
      return within ? (values.lower < values.upper ? BOTH : CAN_BE_TRUE) : CAN_BE_FALSE
    }
    case 'category-in':
      return values.kind === 'index' ? certainly(predicate.indexes.includes(values.index)) : BOTH
    case 'boolean-is':
      return values.kind === 'index' ? certainly((values.index === 1) === predicate.value) : BOTH
    case 'string-in':
      return BOTH
  }
}
