import type { QueryPredicate } from '../../schemas/query.ts'
import type { Dataset } from '../catalog/dataset.ts'
import type { GroupKey, Predicate } from '../planner/aggregate.ts'
import { type CellLabel, planGrouping } from '../planner/grouping.ts'
import { planPredicate } from '../planner/predicate.ts'
import type { GroupingExpression } from './grouping.ts'

/** The values of a column that the rows of a cell can have. */
type Values =
  | { readonly kind: 'null' }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'range'; readonly lower: bigint; readonly upper: bigint }
  /** Any value, but not NULL. */
  | { readonly kind: 'present' }

/** The truth values that a predicate can have for rows of a cell; both if nothing is known. */
interface Possible {
  readonly true: boolean
  readonly false: boolean
}

const BOTH: Possible = { true: true, false: true }

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
  const predicate = planPredicate(where, dataset, 'where')
  const keys = groupings.map(({ name, column }) => {
    const { key, labels } = planGrouping(column, dataset, 'keys')
    return {
      name,
      valuesOf: new Map(labels.map((label, cell) => [JSON.stringify(label), valuesIn(key, cell)])),
    }
  })
  return (group) => {
    const values = new Map(
      keys.map(({ name, valuesOf }) => [name, valuesOf.get(JSON.stringify(group[name] ?? null))]),
    )
    return possible(predicate, values).true
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
      return undefined
  }
}

function possible(predicate: Predicate, values: ReadonlyMap<string, Values | undefined>): Possible {
  switch (predicate.kind) {
    case 'and':
    case 'or': {
      const parts = predicate.predicates.map((part) => possible(part, values))
      return predicate.kind === 'and'
        ? { true: parts.every((part) => part.true), false: parts.some((part) => part.false) }
        : { true: parts.some((part) => part.true), false: parts.every((part) => part.false) }
    }
    case 'not': {
      const part = possible(predicate.predicate, values)
      return { true: part.false, false: part.true }
    }
    default: {
      const found = values.get(predicate.column)
      if (found === undefined) return BOTH
      if (predicate.kind === 'is-null') return certainly(found.kind === 'null')
      return found.kind === 'null' ? certainly(false) : comparedWith(found, predicate)
    }
  }
}

function certainly(truth: boolean): Possible {
  return { true: truth, false: !truth }
}

type Comparison = Exclude<Predicate, { kind: 'and' | 'or' | 'not' | 'is-null' }>

function comparedWith(values: Exclude<Values, { kind: 'null' }>, predicate: Comparison): Possible {
  switch (predicate.kind) {
    case 'index-between': {
      if (values.kind !== 'range') return BOTH
      const { lower = values.lower, upper = values.upper } = predicate
      return {
        true: lower <= values.upper && upper >= values.lower && lower <= upper,
        false: lower > values.lower || upper < values.upper,
      }
    }
    case 'index-in': {
      if (values.kind !== 'range') return BOTH
      const within = predicate.indexes.some((index) => index >= values.lower && index <= values.upper)
      return { true: within, false: !within || values.lower < values.upper }
    }
    case 'category-in':
      return values.kind === 'index' ? certainly(predicate.indexes.includes(values.index)) : BOTH
    case 'boolean-is':
      return values.kind === 'index' ? certainly((values.index === 1) === predicate.value) : BOTH
    case 'string-in':
      return BOTH
  }
}
