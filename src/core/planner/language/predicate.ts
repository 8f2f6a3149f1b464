import type { QueryPredicate } from '../../../../schemas/answers/query.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import type { Aggregate, Bounding, Predicate } from './aggregate.ts'
import { requireColumn } from './column-rules.ts'
import { planPredicateOver } from './comparisons.ts'

/**
 * Plans which rows a query counts, in the form that every aggregate takes.
 * @throws Refusal as {@link planPredicate}.
 */
export function planRows(
  where: QueryPredicate | undefined,
  dataset: Dataset,
  bounding: Bounding,
): { readonly where?: Predicate; readonly bounding: Bounding } {
  return {
    ...(where === undefined ? {} : { where: planPredicate(where, dataset, 'where') }),
    bounding,
  }
}

/** Returns the condition of rows that satisfy all predicates, in the form that every aggregate takes. */
export function whereAll(predicates: readonly Predicate[]): Pick<Aggregate, 'where'> {
  const [first, ...others] = predicates
  if (first === undefined) return {}
  return { where: others.length === 0 ? first : { kind: 'and', predicates } }
}

/** Bounding that leaves out no row: ingestion has bounded each person's rows already. */
export function widestBounding({ privacyUnit }: Dataset): Bounding {
  switch (privacyUnit.kind) {
    case 'row':
      return { kind: 'one-row-each' }
    case 'person':
      return { kind: 'rows', rows: privacyUnit.maxRows }
  }
}

/** Translates a predicate over the columns of a dataset, as {@link planPredicateOver}. */
export function planPredicate(predicate: QueryPredicate, dataset: Dataset, field: string): Predicate {
  return planPredicateOver(predicate, (name, path) => requireColumn(dataset, name, path), field)
}
