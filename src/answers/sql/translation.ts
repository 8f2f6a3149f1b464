import { isDeepStrictEqual } from 'node:util'
import { MAX_BATCH_QUERIES, type QueryPredicate, requestTerms } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { defined } from '../../privacy/defined.ts'
import { entry } from '../../privacy/must.ts'
import { Refusal } from '../../privacy/refusal.ts'
import {
  type AssembledQuery,
  assembleQueries,
  type Placed,
  type PlacedMeasure,
  placeMeasure,
} from './assembly.ts'
import { conditionOf } from './conditions.ts'
import { type GroupingExpression, isGroupingFunction } from './grouping.ts'
import { keyOf } from './keys.ts'
import { type Measure, measureOf } from './measures.ts'
import { notesOf } from './notes.ts'
import { contains, isWindow, nameOf } from './parsing/expressions.ts'
import type { Call, Expression, ExpressionOf, Frame, Select, Statement, Target } from './parsing/statement.ts'
import { refusePart } from './place.ts'
import { plainCalendar } from './rewriting/calendar.ts'
import { plainDivisors, rewritten } from './rewriting/rewritten.ts'
import { resolveTimes } from './rewriting/times.ts'
import { hasAggregate, unwrapped } from './rewriting/wrappers.ts'
import { compileValue, halfWidthOf, isFunction } from './rows/computed.ts'
import { createGroupFilter } from './rows/excluded-groups.ts'
import { compileHaving, orderBy, sliceOf } from './rows/post-processing.ts'
import { type Answered, groupsOf, type ResultColumn } from './rows/result.ts'
import { halfWidthUnit, isWhole, type StatedNoise, typeOf } from './rows/result-types.ts'
import {
  type Cell,
  type Computed,
  type Group,
  isNoisy,
  keptBy,
  type Slot,
  type Slots,
  valueIn,
} from './rows/row-values.ts'
import { compileWindow } from './rows/windows.ts'
import {
  columnOf,
  declaredName,
  isColumn,
  openScope,
  type Places,
  type Scope,
  temporalTypeOf,
} from './scope.ts'

/** A statement as queries, and its rows as post-processing of their answers. */
export interface Translation {
  /**
   * The queries, without the fields that a request gives by themselves, such as `epsilon`. Most statements have one; several
   * are charged and answered together.
   */
  readonly queries: readonly Readonly<Record<string, unknown>>[]
  /** Returns the columns of the rows of answers with this noise, in the order of the queries. */
  readonly columnsOf: (stated: readonly StatedNoise[]) => readonly ResultColumn[]
  /** Differences between the answer and that of a database. */
  readonly notes: readonly string[]
  /** Returns the rows of the answers to the queries, with their values in the order of the columns. */
  readonly rowsOf: (answers: readonly Answered[]) => readonly (readonly Cell[])[]
  /** Returns a refusal of the queries as one of the statement, with the place of the part that is at fault. */
  readonly refusalOf: (refusal: Refusal) => Refusal
}

/**
 * Translates a statement to the queries that it means. See decision 46.
 * @param text the text of the statement
 * @param nowMs the time that now() means
 * @throws Refusal `sql-not-supported` or `query-does-not-fit`
 */
export function translate(text: string, select: Select, dataset: Dataset, nowMs: number): Translation {
  const refuse = (at: number | undefined, rule: string) => refusePart(text, at, 'sql-not-supported', rule)
  const withScope = (written: Statement) => {
    const scope = openScope(text, written, dataset, conditionOf)
    return { scope, statement: plainCalendar(written, (column) => temporalTypeOf(scope, column)) }
  }
  const groupsIn = (inner: Statement) => {
    const { scope, statement } = withScope(inner)
    return statement.groupBy.map((written) => groupedExpression(scope, written, statement.targets))
  }
  const times = resolveTimes(unwrapped(select, { refuse, groupsOf: groupsIn }), nowMs, refuse)
  const { scope, statement } = withScope(plainDivisors(times.statement))
  const where = statement.where && scope.condition(statement.where)
  const groupings = readGroupings(scope, statement)
  const measures: PlacedMeasure[] = []
  const choosesByNoise = statement.having !== undefined && hasAggregate(statement.having)
  const slots = createSlots(scope, groupings, measures, where, choosesByNoise)
  const outputs = statement.targets.map((target) => ({ target, slot: slots(target.expression) }))
  if (statement.having !== undefined) requireNoWindows(scope, statement.having)
  const having = statement.having && compileHaving(scope, slots, statement.having)
  const qualify = statement.qualify && compileHaving(scope, slots, statement.qualify)
  const order = statement.orderBy.map((key) => ({
    slot: key.isResolved ? slots(key.expression) : orderSlot(scope, key.expression, outputs, slots),
    key,
  }))
  const sortsNoise = order.some(({ slot }) => isNoisy(slot))
  const slice = sliceOf(scope, statement)
  if (measures.length === 0) throw refuseWithoutAggregate(scope, statement)
  const queries = assembleQueries(scope, groupings, measures, where)
  if (queries.length > MAX_BATCH_QUERIES) {
    const rule = `the statement means ${queries.length} queries; at most ${MAX_BATCH_QUERIES} are supported. Send several statements.`
    throw scope.unsupported(undefined, rule)
  }
  const divides = outputs.some(
    ({ target, slot }) =>
      'computed' in slot &&
      isNoisy(slot) &&
      contains(target.expression, (part) => part.kind === 'arithmetic' && part.op === '/'),
  )
  const parts = { groupings: groupings.map(({ part }) => part), measures: measures.map(({ part }) => part) }
  const facts = { ...parts, sortsNoise, divides, queries: queries.length }
  return {
    queries: queries.map(({ query }) => query),
    columnsOf: (stated) => columnsOf(dataset, stated, outputs, { ...parts, queries }),
    notes: [...times.notes, ...notesOf(dataset, statement, facts)],
    rowsOf: (answers) => {
      const isIncluded = createGroupFilter(where, parts.groupings, dataset)
      const groups = groupsOf(answers, { ...parts, queries }, isIncluded)
      const kept = having === undefined ? groups : keptBy(groups, having)
      return (qualify === undefined ? kept : kept.filter((group) => qualify(group) === true))
        .toSorted(orderBy(order))
        .slice(slice.from, slice.from + slice.count)
        .map((group) => outputs.flatMap(({ slot }) => cellsOf(group, slot)))
    },
    refusalOf: (refusal) => refusalAt(scope, refusal, queries),
  }
}

/** As in SQL, where HAVING chooses the groups that windows see. */
function requireNoWindows(scope: Scope, having: Expression): void {
  contains(having, (part) => {
    if (!isWindow(part)) return false
    const rule =
      'windows are not supported in HAVING. Write the condition around it: SELECT * FROM (SELECT ...) AS t WHERE ...'
    throw scope.unsupported(part.at, rule)
  })
}

/** The value of a column of the SELECT list, and its half-width if it is noisy. */
function cellsOf(group: Group, slot: Slot): readonly Cell[] {
  const value = valueIn(group, slot)
  if (!isNoisy(slot)) return [value]
  if ('computed' in slot) return [value, halfWidthOf(slot.computed, group)]
  return [value, 'measure' in slot ? (group.measured[slot.measure]?.halfWidth ?? null) : null]
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
    groupings.push({ part: keyOf(scope, expression), at: written.at, signature })
  }
  return groupings
}

function groupedExpression(scope: Scope, written: Expression, targets: readonly Target[]): Expression {
  if (written.kind === 'number') return targetAt(scope, written, targets).expression
  // As in PostgreSQL: here a column of the table comes before an alias.
  if (written.kind !== 'column' || written.table !== undefined || isColumn(scope, written)) return written
  const named = targets.filter((target) => nameOf(target) === written.name)
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
  { text, signed, at }: ExpressionOf<'number'>,
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
  const isCalendar = expression.kind === 'call' && isGroupingFunction(expression.name)
  return JSON.stringify(expression, (name, part: unknown) => {
    if (name === 'at') return undefined
    if (typeof part !== 'object' || part === null || !('kind' in part)) return part
    const inner = part as Expression
    if (inner.kind === 'column') return { is: declaredName(scope, inner) }
    if (inner.kind === 'call' && inner.name === 'date_part') return { ...inner, name: 'extract' }
    // Units of the calendar can be spelled in any case.
    if (isCalendar && inner.kind === 'text') return { unit: inner.value.toLowerCase() }
    return inner
  })
}

const MOST_WINDOWS = 10
/** Most rows in the frames of all windows together, apart from frames that end with their partition: they are computed for each group. */
const MOST_ROWS_IN_FRAMES = 400

function rowsInFrame({ start, end }: Frame): number {
  return start === undefined || end === undefined ? 0 : Math.max(0, end - start + 1)
}

/** Finds the values of expressions in groups. An aggregate that is new is added to `measures`. */
function createSlots(
  scope: Scope,
  groupings: readonly PlacedGrouping[],
  measures: PlacedMeasure[],
  where: QueryPredicate | undefined,
  choosesByNoise: boolean,
): Slots {
  const windows = new Map<string, Computed>()
  let rowsInFrames = 0
  const windowed = (call: Call, name: string): Slot => {
    if (call.over !== undefined && !windows.has(name)) rowsInFrames += rowsInFrame(call.over.frame)
    if (rowsInFrames > MOST_ROWS_IN_FRAMES)
      throw scope.unsupported(
        call.at,
        `the frames of all windows of a statement have at most ${MOST_ROWS_IN_FRAMES} rows together.`,
      )
    const compile = (part: Expression) => compileValue(scope, slots, part)
    const value = windows.get(name) ?? compileWindow(scope, call, { slots, compile, name, choosesByNoise })
    windows.set(name, value)
    if (windows.size > MOST_WINDOWS)
      throw scope.unsupported(
        call.at,
        `at most ${MOST_WINDOWS} different windows are supported in a statement.`,
      )
    return { computed: value, type: value.type }
  }
  const measured = (call: Call): Slot => {
    const part = measureOf(scope, call)
    const filter = call.filter && scope.condition(call.filter)
    const measure = placeMeasure(measures, defined({ part, filter, at: call.at }), where, scope)
    const type = typeOf(part, scope.dataset)
    return { measure, type, inUnitOfValue: halfWidthUnit(part, type) === undefined }
  }
  const computed = (expression: Expression): Slot => {
    const value = compileValue(scope, slots, expression)
    return { computed: value, type: value.type }
  }
  const slots: Slots = (expression) => {
    const { kind, at } = expression
    if (kind === 'column') columnOf(scope, expression)
    const signature = signatureOf(scope, expression)
    const key = groupings.findIndex((grouping) => grouping.signature === signature)
    const grouping = groupings[key]
    if (grouping !== undefined) return { key, type: grouping.part.type }
    switch (kind) {
      case 'call': {
        if (expression.over !== undefined) return windowed(expression, signature)
        if (isGroupingFunction(expression.name)) break
        if (isFunction(expression.name)) return computed(expression)
        const other = rewritten(expression)
        return other === undefined ? measured(expression) : slots(other)
      }
      case 'cast':
        if (expression.type === 'number' && expression.digits === undefined)
          return numberSlot(slots(expression.value), computed, expression)
        return computed(expression)
      case 'arithmetic':
      case 'number':
      case 'text':
      case 'boolean':
      case 'null':
        return computed(expression)
      case 'star':
        throw scope.unsupported(at, NO_ROWS)
      case 'column':
        break
      default: {
        const rule = 'only columns of GROUP BY, aggregates, and arithmetic with these are supported here.'
        throw scope.unsupported(at, rule)
      }
    }
    const rule = 'this must be in GROUP BY or in an aggregate. Rows themselves cannot be released.'
    throw scope.unsupported(at, rule)
  }
  return slots
}

const NO_ROWS =
  'SELECT * is not supported, because rows cannot be released. List aggregates, such as COUNT(*). Made-up rows are free: ' +
  'GET /v1/datasets/{dataset}/dummy.'

/** A cast of a number to a wider type keeps what it is. */
function numberSlot(slot: Slot, computed: (expression: Expression) => Slot, cast: Expression): Slot {
  return 'measure' in slot && slot.type === 'number' ? slot : computed(cast)
}

interface Output {
  readonly target: Target
  readonly slot: Slot
}

/** As in PostgreSQL: a place in the SELECT list, a name of its columns, or an expression of the groups. */
function orderSlot(scope: Scope, expression: Expression, outputs: readonly Output[], slots: Slots): Slot {
  if (expression.kind === 'number') return targetAt(scope, expression, outputs).slot
  if (expression.kind !== 'column' || expression.table !== undefined) return slots(expression)
  const named = outputs.filter(({ target }) => nameOf(target) === expression.name)
  const [first, ...others] = named.map(({ slot }) => slot)
  if (others.some((other) => !isDeepStrictEqual(other, first))) throw ambiguous(scope, expression)
  return first ?? slots(expression)
}

function refuseWithoutAggregate(scope: Scope, { targets, groupBy }: Statement): Refusal {
  const at = (groupBy[0] ?? targets[0]?.expression)?.at
  const instead = groupBy.length > 0 ? 'Add COUNT(*).' : 'Ask for an aggregate, such as COUNT(*).'
  return scope.unsupported(at, `a statement needs an aggregate. ${instead}`)
}

/** Names and types of the columns of the rows. The half-width of a value is in the column after it. */
function columnsOf(
  dataset: Dataset,
  stated: readonly StatedNoise[],
  outputs: readonly Output[],
  {
    groupings,
    measures,
    queries,
  }: {
    readonly groupings: readonly GroupingExpression[]
    readonly measures: readonly Measure[]
    readonly queries: readonly AssembledQuery[]
  },
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
    const ownName = nameOf(target) ?? 'column'
    if (!isNoisy(slot)) {
      const isKeyColumn = 'key' in slot && alias === undefined && expression.kind === 'column'
      const name = isKeyColumn ? entry(groupings, slot.key).name : ownName
      return [{ name: unique(name), type: slot.type }]
    }
    const name = unique(ownName)
    if (!('measure' in slot)) {
      const halfWidthColumn = unique(`${name}_half_width`)
      return [
        { name, type: slot.type, halfWidthColumn },
        { name: halfWidthColumn, type: 'number' },
      ]
    }
    const measure = entry(measures, slot.measure)
    const query = queries.findIndex(({ computes }) => computes.some((each) => each.measure === slot.measure))
    const type = isWhole(measure, dataset, entry(stated, query)) ? 'integer' : slot.type
    const unit = halfWidthUnit(measure, slot.type)
    // Beside a value, a number of rows would be taken for one in the unit of the value.
    const halfWidthColumn = unique(`${name}${unit === 'rows' ? '_rank' : ''}_half_width`)
    return [{ name, type, halfWidthColumn }, defined({ name: halfWidthColumn, type: 'number', unit })]
  })
}

/** Fields and parameters that a request gives beside the statement. */
const TERMS: readonly string[] = ['candidates', ...Object.keys(requestTerms)]

function refusalAt(scope: Scope, refusal: Refusal, queries: readonly AssembledQuery[]): Refusal {
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
