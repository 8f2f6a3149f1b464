import { MAX_BATCH_QUERIES } from '../../../schemas/answers/query.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import type { Refusal } from '../../privacy/refusal.ts'
import { assembleQueries, type PlacedMeasure } from './assembly.ts'
import { conditionOf } from './conditions.ts'
import { notesOf } from './notes.ts'
import { contains, isWindow } from './parsing/expressions.ts'
import type { Expression, Select, Statement } from './parsing/statement.ts'
import { refusePart } from './place.ts'
import { refusalAt } from './refusals.ts'
import { plainCalendar } from './rewriting/calendar.ts'
import { plainDivisors, withNamesOf } from './rewriting/rewritten.ts'
import { resolveTimes } from './rewriting/times.ts'
import { hasAggregate, unwrapped } from './rewriting/wrappers.ts'
import { halfWidthOf } from './rows/computed.ts'
import { createGroupFilter } from './rows/excluded-groups.ts'
import { compileHaving, orderBy, sliceOf } from './rows/post-processing.ts'
import { type Answered, groupsOf, type ResultColumn } from './rows/result.ts'
import { columnsOf } from './rows/result-columns.ts'
import type { StatedNoise } from './rows/result-types.ts'
import { type Cell, type Group, isNoisy, keptBy, type Slot, valueIn } from './rows/row-values.ts'
import { openScope, type Scope, temporalTypeOf } from './scope.ts'
import { createSlots, groupedExpression, orderSlot, readGroupings } from './slots.ts'

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
    const plain = plainCalendar(plainDivisors(written), (column) => temporalTypeOf(scope, column))
    return { scope, statement: withNamesOf(written, plain) }
  }
  const groupsIn = (inner: Statement) => {
    const { scope, statement } = withScope(inner)
    return statement.groupBy.map((written) => groupedExpression(scope, written, statement.targets))
  }
  const times = resolveTimes(unwrapped(select, { refuse, groupsOf: groupsIn }), nowMs, refuse)
  const { scope, statement } = withScope(times.statement)
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
  const shape = {
    groupings: groupings.map(({ part }) => part),
    measures: measures.map(({ part }) => part),
    queries,
  }
  return {
    queries: queries.map(({ query }) => query),
    columnsOf: (stated) => columnsOf(dataset, stated, outputs, shape),
    notes: [...times.notes, ...notesOf(dataset, statement, { ...shape, sortsNoise, divides })],
    rowsOf: (answers) => {
      const isIncluded = createGroupFilter(where, shape.groupings, dataset)
      const groups = groupsOf(answers, shape, isIncluded)
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

function refuseWithoutAggregate(scope: Scope, { targets, groupBy }: Statement): Refusal {
  const at = (groupBy[0] ?? targets[0]?.expression)?.at
  const instead = groupBy.length > 0 ? 'Add COUNT(*).' : 'Ask for an aggregate, such as COUNT(*).'
  return scope.unsupported(at, `a statement needs an aggregate. ${instead}`)
}
