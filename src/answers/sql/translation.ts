import { isDeepStrictEqual } from 'node:util'
import { type QueryPredicate, requestTerms } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { defined } from '../../privacy/defined.ts'
import { entry } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { type AssembledQuery, assembleQuery, type Placed, placeMeasure } from './assembly.ts'
import { conditionOf, type Placing } from './conditions.ts'
import { createGroupFilter } from './excluded-groups.ts'
import { type Cell, type GroupingExpression, groupingOf } from './grouping.ts'
import { type Measure, measureOf } from './measures.ts'
import { notesOf } from './notes.ts'
import type { Expression, Statement, Target } from './parsing/statement.ts'
import { refusePart } from './place.ts'
import { compileHaving, type Slot, type Slots, sliceOf, sortGroups, valueIn } from './post-processing.ts'
import { type Answered, type Group, groupsOf, type ResultColumn } from './result.ts'
import { halfWidthUnit, isWhole, type StatedNoise, typeOf } from './result-types.ts'
import { columnOf, isColumn, openScope, type Scope } from './scope.ts'

/** A statement as a query, and its rows as post-processing of the answer. */
export interface Translation {
  /** The query, without the fields that a request gives by themselves, such as `epsilon`. */
  readonly query: Readonly<Record<string, unknown>>
  /** Returns the columns of the rows of an answer with this noise. */
  readonly columnsOf: (stated: StatedNoise) => readonly ResultColumn[]
  /** Differences between the answer and that of a database. */
  readonly notes: readonly string[]
  /** Returns the rows of an answer to the query, with their values in the order of the columns. */
  readonly rowsOf: (answer: Answered) => readonly (readonly Cell[])[]
  /** Returns a refusal of the query as one of the statement, with the place of the part that is at fault. */
  readonly refusalOf: (refusal: Refusal) => Refusal
}

/**
 * Translates a statement to the query that it means. See decision 46.
 * @param text the text of the statement
 * @throws Refusal `sql-not-supported` or `query-does-not-fit`
 */
export function translate(text: string, statement: Statement, dataset: Dataset): Translation {
  const scope = openScope(text, statement, dataset)
  const placed: Places = new WeakMap()
  const place: Placing = (part, at) => {
    placed.set(part, at)
    return part
  }
  const { where: condition } = statement
  const where = condition && conditionOf(scope, place, condition)
  const groupings = readGroupings(scope, statement)
  const measures: Placed<Measure>[] = []
  const slots = createSlots(scope, groupings, measures)
  const outputs = statement.targets.map((target) => ({ target, slot: slots(target.expression) }))
  const having = statement.having && compileHaving(scope, slots, statement.having)
  const order = statement.orderBy.map((key) => ({
    slot: orderSlot(scope, key.expression, outputs, slots),
    key,
  }))
  const sortsNoise = order.some(({ slot }) => 'measure' in slot)
  const slice = sliceOf(scope, statement)
  if (measures.length === 0) throw refuseWithoutAggregate(scope, statement)
  const assembled = assembleQuery(scope, groupings, measures, where)
  const parts = { groupings: groupings.map(({ part }) => part), measures: measures.map(({ part }) => part) }
  return {
    query: assembled.query,
    columnsOf: (stated) => columnsOf(dataset, stated, outputs, parts),
    notes: notesOf(dataset, statement, { ...parts, sortsNoise }),
    rowsOf: (answer) => {
      const isIncluded = createGroupFilter(where, parts.groupings, dataset)
      const groups = groupsOf(answer, parts.groupings, parts.measures, isIncluded)
      const kept = having === undefined ? groups : groups.filter((group) => having(group) === true)
      return sortGroups(kept, order)
        .slice(slice.from, slice.from + slice.count)
        .map((group) => outputs.flatMap(({ slot }) => cellsOf(group, slot)))
    },
    refusalOf: (refusal) => refusalAt(text, refusal, assembled, where, placed),
  }
}

/** The value of a column of the SELECT list, and its half-width if it has one. */
function cellsOf(group: Group, slot: Slot): readonly Cell[] {
  const value = valueIn(group, slot)
  return 'key' in slot ? [value] : [value, group.measured[slot.measure]?.halfWidth ?? null]
}

interface PlacedGrouping extends Placed<GroupingExpression> {
  readonly signature: string
}

/** Translates GROUP BY. An expression may be given by its place or its name in the SELECT list. */
function readGroupings(scope: Scope, { groupBy, targets }: Statement): readonly PlacedGrouping[] {
  const groupings: PlacedGrouping[] = []
  for (const written of groupBy) {
    const expression = groupedExpression(scope, written, targets)
    const signature = signatureOf(scope, expression)
    if (groupings.some((other) => other.signature === signature)) continue
    groupings.push({ part: groupingOf(scope, expression), at: written.at, signature })
  }
  return groupings
}

function groupedExpression(scope: Scope, written: Expression, targets: readonly Target[]): Expression {
  if (written.kind === 'number') return targetAt(scope, written, targets).expression
  // As in PostgreSQL: here a column of the table comes before an alias.
  if (written.kind !== 'column' || written.table !== undefined || isColumn(scope, written)) return written
  const named = targets.filter((target) => defaultName(target) === written.name)
  const [first, ...others] = named.map(({ expression }) => expression)
  if (first === undefined) return written
  if (others.some((other) => signatureOf(scope, other) !== signatureOf(scope, first)))
    throw ambiguous(scope, written)
  return first
}

function ambiguous({ misfit }: Scope, { at, name }: { readonly at: number; readonly name: string }): Refusal {
  return misfit(at, `"${name}" is the name of several columns of the SELECT list. Give each its own name.`)
}

function targetAt<Item>(
  scope: Scope,
  { text, signed, at }: Extract<Expression, { kind: 'number' }>,
  targets: readonly Item[],
): Item {
  // In PostgreSQL it is a constant, which neither groups nor orders.
  if (signed === true) throw scope.unsupported(at, 'a place in the SELECT list has no sign.')
  const target = /^\d{1,4}$/.test(text) ? targets[Number(text) - 1] : undefined
  if (target !== undefined) return target
  throw scope.unsupported(at, `place ${text} is not in the SELECT list, which has ${targets.length}.`)
}

/** Returns a text that is the same for expressions with the same meaning. */
function signatureOf(scope: Scope, expression: Expression): string {
  if (expression.kind === 'column')
    return JSON.stringify(isColumn(scope, expression) ? columnOf(scope, expression).name : [expression.name])
  if (expression.kind === 'call') {
    const { name, arguments: parts } = expression
    return `${name === 'date_part' ? 'extract' : name}(${parts.map((part) => signatureOf(scope, part)).join()})`
  }
  if (expression.kind === 'array')
    return `[${expression.elements.map((each) => signatureOf(scope, each)).join()}]`
  if (expression.kind === 'text') return `'${JSON.stringify(expression.value.toLowerCase())}`
  const { at: _, ...meaning } = expression
  return JSON.stringify(meaning)
}

const GROUPING_FUNCTIONS: readonly string[] = ['date_trunc', 'date_part', 'extract', 'width_bucket']

/** Finds the values of expressions in groups. An aggregate that is new is added to `measures`. */
function createSlots(scope: Scope, groupings: readonly PlacedGrouping[], measures: Placed<Measure>[]): Slots {
  return (expression) => {
    const { kind, at } = expression
    if (kind === 'call' && !GROUPING_FUNCTIONS.includes(expression.name)) {
      const measure = measureOf(scope, expression)
      return { measure: placeMeasure(measures, measure, at), type: typeOf(measure, scope.dataset) }
    }
    if (kind !== 'column' && kind !== 'call') {
      const rule =
        'only columns of GROUP BY and aggregates are supported here. Expressions cannot be computed.'
      throw scope.unsupported(at, rule)
    }
    if (kind === 'column') columnOf(scope, expression)
    const signature = signatureOf(scope, expression)
    const key = groupings.findIndex((grouping) => grouping.signature === signature)
    const grouping = groupings[key]
    if (grouping !== undefined) return { key, type: grouping.part.type }
    const rule = 'this must be in GROUP BY or in an aggregate. Rows themselves cannot be released.'
    throw scope.unsupported(at, rule)
  }
}

interface Output {
  readonly target: Target
  readonly slot: Slot
}

/** As in PostgreSQL: a place in the SELECT list, a name of its columns, or an expression of the groups. */
function orderSlot(scope: Scope, expression: Expression, outputs: readonly Output[], slots: Slots): Slot {
  if (expression.kind === 'number') return targetAt(scope, expression, outputs).slot
  if (expression.kind !== 'column' || expression.table !== undefined) return slots(expression)
  const named = outputs.filter(({ target }) => defaultName(target) === expression.name)
  const [first, ...others] = named.map(({ slot }) => slot)
  if (others.some((other) => !isDeepStrictEqual(other, first))) throw ambiguous(scope, expression)
  return first ?? slots(expression)
}

function refuseWithoutAggregate(scope: Scope, { targets, groupBy }: Statement): Refusal {
  const at = (groupBy[0] ?? targets[0]?.expression)?.at
  const instead = groupBy.length > 0 ? 'Add COUNT(*).' : 'Ask for an aggregate, such as COUNT(*).'
  return scope.unsupported(at, `a statement needs an aggregate. ${instead}`)
}

/** The name of a column in the result, as PostgreSQL chooses it. */
function defaultName({ alias, expression }: Target): string {
  if (alias !== undefined) return alias
  return expression.kind === 'column' || expression.kind === 'call' ? expression.name : 'column'
}

/** Names and types of the columns of the rows. The half-width of a value is in the column after it. */
function columnsOf(
  dataset: Dataset,
  stated: StatedNoise,
  outputs: readonly Output[],
  { groupings, measures }: { groupings: readonly GroupingExpression[]; measures: readonly Measure[] },
): readonly ResultColumn[] {
  const taken = new Set<string>()
  const unique = (wanted: string): string => {
    let name = wanted
    for (let copy = 2; taken.has(name); copy += 1) name = `${wanted}_${copy}`
    taken.add(name)
    return name
  }
  return outputs.flatMap(({ target, slot }): readonly ResultColumn[] => {
    const { expression, alias } = target
    if ('key' in slot) {
      const name = entry(groupings, slot.key).name
      const shown = alias ?? (expression.kind === 'column' ? name : defaultName(target))
      return [{ name: unique(shown), type: slot.type }]
    }
    const measure = entry(measures, slot.measure)
    const type = isWhole(measure, dataset, stated) ? 'integer' : slot.type
    const unit = halfWidthUnit(measure, slot.type)
    const name = unique(defaultName(target))
    // Beside a value, a number of rows would be taken for one in the unit of the value.
    const halfWidthColumn = unique(`${name}${unit === 'rows' ? '_rank' : ''}_half_width`)
    return [{ name, type, halfWidthColumn }, defined({ name: halfWidthColumn, type: 'number', unit })]
  })
}

/** Fields and parameters that a request gives beside the statement. */
const TERMS: readonly string[] = ['candidates', ...Object.keys(requestTerms)]

function refusalAt(
  text: string,
  refusal: Refusal,
  { places }: AssembledQuery,
  where: QueryPredicate | undefined,
  placed: Places,
): Refusal {
  const broken = refusal.errors.find(
    ({ field }) => !TERMS.some((term) => field === term || field.startsWith(`${term}.`)),
  )
  if (broken === undefined) return refusal
  const at = placeOfCondition(broken.field, where, placed) ?? placeOfField(broken.field, places)
  const { code, errors, message, facts } = refusePart(text, at, refusal.code, broken.rule)
  return new Refusal(code, message, errors, { ...refusal.facts, ...facts })
}

/** The byte offset of each predicate, and those of the elements of each list of values. */
type Places = WeakMap<object, number | readonly number[]>

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
