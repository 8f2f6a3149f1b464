import { type QueryPredicate, requestTerms } from '../../../schemas/answers/query.ts'
import { entry } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import type { AssembledQuery } from './assembly.ts'
import { refusePart } from './place.ts'
import type { Places, Scope } from './scope.ts'

/** Fields and parameters that a request gives beside the statement. */
const TERMS: readonly string[] = ['candidates', ...Object.keys(requestTerms)]

/** Returns a refusal of the queries as one of the statement, with the place of the part that is at fault. */
export function refusalAt(scope: Scope, refusal: Refusal, queries: readonly AssembledQuery[]): Refusal {
  const errors = refusal.errors.map(({ field, rule }) => ({ ...fieldOfQuery(field), rule }))
  const broken = errors.find(
    ({ field }) => !TERMS.some((term) => field === term || field.startsWith(`${term}.`)),
  )
  if (broken === undefined) {
    const own = errors.map(({ field, rule }) => ({ field, rule }))
    return new Refusal(refusal.code, refusal.message, own, refusal.facts)
  }
  const { places, query } = entry(queries, broken.query)
  const at =
    placeOfCondition(broken.field, query.where as QueryPredicate | undefined, scope.places) ??
    placeOfField(broken.field, places)
  const { code, errors: shown, message, facts } = refusePart(scope.text, at, refusal.code, broken.rule)
  return new Refusal(code, message, shown, { ...refusal.facts, ...facts })
}

/** The field of a query, and the place of the query in a batch. */
function fieldOfQuery(field: string): { readonly query: number; readonly field: string } {
  const [, place, own] = /^queries\.(\d+)\.(.+)$/.exec(field) ?? []
  return place === undefined || own === undefined ? { query: 0, field } : { query: Number(place), field: own }
}

/** Returns the place of the innermost predicate or value on the path of a field, such as `where.predicates.0.value`. */
function placeOfCondition(
  field: string,
  where: QueryPredicate | undefined,
  placed: Places,
): number | undefined {
  const [first, ...path] = field.split('.')
  if (first !== 'where') return undefined
  let at: number | undefined
  let part: unknown = where
  for (const name of [...path, '']) {
    if (typeof part !== 'object' || part === null) break
    const place = placed.get(part)
    at = (typeof place === 'object' ? place[Number(name)] : place) ?? at
    part = (part as Readonly<Record<string, unknown>>)[name]
  }
  return at
}

/** Returns the place of a field, or of the closest field that it is part of. */
function placeOfField(field: string, places: ReadonlyMap<string, number>): number | undefined {
  const path = field.split('.')
  for (let length = path.length; length > 0; length -= 1) {
    const at = places.get(path.slice(0, length).join('.'))
    if (at !== undefined) return at
  }
  return undefined
}
