import { isDeepStrictEqual } from 'node:util'
import type { QueryPredicate } from '../../../schemas/answers/query.ts'
import { defined } from '../../privacy/defined.ts'
import type { Refusal } from '../../privacy/refusal.ts'
import { type Placed, type PlacedMeasure, placeMeasure } from './assembly.ts'
import { type GroupingExpression, isGroupingFunction } from './grouping.ts'
import { keyOf } from './keys.ts'
import { measureOf } from './measures.ts'
import { nameOf } from './parsing/expressions.ts'
import type { Call, Expression, ExpressionOf, Frame, Statement, Target } from './parsing/statement.ts'
import { rewritten } from './rewriting/rewritten.ts'
import { compileValue, isFunction } from './rows/computed.ts'
import type { Output } from './rows/result-columns.ts'
import { halfWidthUnit, typeOf } from './rows/result-types.ts'
import type { Computed, Slot, Slots } from './rows/row-values.ts'
import { compileWindow } from './rows/windows.ts'
import { columnOf, declaredName, isColumn, type Scope } from './scope.ts'

/* What the names and expressions of a statement with groups mean: values of GROUP BY, aggregates, and what is computed from them. */

/** An expression of GROUP BY. */
export interface PlacedGrouping extends Placed<GroupingExpression> {
  readonly signature: string
}

/** Translates GROUP BY. An expression may be given by its place or its name in the SELECT list. */
export function readGroupings(scope: Scope, { groupBy, targets }: Statement): readonly PlacedGrouping[] {
  const groupings: PlacedGrouping[] = []
  for (const written of groupBy) {
    const expression = groupedExpression(scope, written, targets)
    const signature = signatureOf(scope, expression)
    if (groupings.some((other) => other.signature === signature)) continue
    groupings.push({ part: keyOf(scope, expression), at: written.at, signature })
  }
  return groupings
}

/** The expression that a part of GROUP BY means. */
export function groupedExpression(scope: Scope, written: Expression, targets: readonly Target[]): Expression {
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
export function createSlots(
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

/** As in PostgreSQL: a place in the SELECT list, a name of its columns, or an expression of the groups. */
export function orderSlot(
  scope: Scope,
  expression: Expression,
  outputs: readonly Output[],
  slots: Slots,
): Slot {
  if (expression.kind === 'number') return targetAt(scope, expression, outputs).slot
  if (expression.kind !== 'column' || expression.table !== undefined) return slots(expression)
  const named = outputs.filter(({ target }) => nameOf(target) === expression.name)
  const [first, ...others] = named.map(({ slot }) => slot)
  if (others.some((other) => !isDeepStrictEqual(other, first))) throw ambiguous(scope, expression)
  return first ?? slots(expression)
}
