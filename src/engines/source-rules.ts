import type { Column, NumericColumn } from '../core/dataset/dataset.ts'
import type { InvalidValues, Misfits } from '../core/dataset/entry.ts'
import { parseJoinedColumn } from '../core/dataset/joins.ts'
import { Refusal, refuseField } from '../privacy/refusal.ts'
import { largestMagnitude } from './grid.ts'

/* Rules for the values of a source, and the refusals of a source that breaks them: the same for files and tables. */

/** A declared limit on the values of a column. */
export interface DeclaredLimit {
  /** Position of the column among the declared ones. */
  readonly position: number
  /** Field of the column's declaration. */
  readonly field: 'rankable.maxValues' | 'selectable.maxValues' | 'selectable.maxLength'
}

/**
 * Checks what the correctness of every later query rests on, also if the declaration was checked before.
 * @throws Refusal `invalid-request`
 */
export function checkColumns(columns: readonly Column[]): void {
  for (const [index, column] of columns.entries()) {
    const field = `columns.${index}`
    if (column.invalidValue.kind === 'null' && !column.nullable) {
      const rule = 'must not be "null" for a column that is not nullable'
      throw refuseField('invalid-request', `${field}.onInvalidValue`, rule)
    }
    if ((column.type === 'integer' || column.type === 'number') && !rangeIsComputable(column)) {
      throw refuseField('invalid-request', field, 'has bounds that are too large for exact computation')
    }
  }
}

const TICKS_PER_NANO = 10n

/** The largest number of ticks of 1e-10. 128-bit integers hold a little more, which doubling and one more step need. */
const LARGEST_TICKS = 10n ** 37n

/** Returns true if the engines' arithmetic on a column's range in ticks is exact. */
export function rangeIsComputable({ stepNano, lowerIndex, upperIndex }: NumericColumn): boolean {
  const ticksPerStep = stepNano * TICKS_PER_NANO
  return (largestMagnitude(lowerIndex, upperIndex) + 1n) * ticksPerStep * 2n <= LARGEST_TICKS
}

/**
 * Refuses a source with invalid values in columns whose rule is to refuse them. It names every such column, what is
 * wrong and where, but no value.
 * @param found invalid values of each column
 * @throws Refusal `source-does-not-fit`
 */
export function refuseInvalidValues(
  columns: readonly Column[],
  found: readonly Required<InvalidValues>[],
): void {
  const errors = columns.flatMap(({ type, invalidValue }, position) => {
    const invalid = found[position]
    if (invalidValue.kind !== 'refuse' || invalid === undefined || invalid.values === 0) return []
    const field = `columns.${position}.name`
    return brokenRules(type, invalid).map((rule) => ({ field, rule }))
  })
  const [first] = errors
  if (first !== undefined) throw new Refusal('source-does-not-fit', `${first.field}: ${first.rule}`, errors)
}

function brokenRules(type: Column['type'], { misfits, column }: Required<InvalidValues>): readonly string[] {
  const remedy = 'declare onInvalidValue "dropRow" to leave them out'
  return misfits.map((each) =>
    type === 'identifier'
      ? `the source has ${each.values} ${each.values === 1 ? 'row' : 'rows'} without this identifier${placesOf(each, column)}; ${remedy}`
      : `the source has ${each.values} ${descriptionOf(each)}${placesOf(each, column)}`,
  )
}

const DESCRIPTIONS: Readonly<Record<Misfits['rule'], readonly [one: string, several: string]>> = {
  missing: ['is missing', 'are missing'],
  'not-a-number': ['is not a number', 'are not numbers'],
  'not-a-whole-number': ['is not a whole number', 'are not whole numbers'],
  'not-a-date': ['is not a date in the declared format', 'are not dates in the declared format'],
  'not-a-timestamp': [
    'is not a timestamp in the declared format',
    'are not timestamps in the declared format',
  ],
  'not-a-boolean': ['is not true or false', 'are not true or false'],
  'not-a-category': ['is not a declared category', 'are not declared categories'],
  'not-a-text': ['is not text', 'are not text'],
}

function descriptionOf({ rule, values }: Misfits): string {
  const [one, several] = DESCRIPTIONS[rule]
  return values === 1 ? `value that ${one}` : `values that ${several}`
}

/** The places of misfits as the end of a sentence; empty for tables. */
function placesOf({ values, unit, first = [], table }: Misfits, column: string): string {
  if (unit === undefined) return ''
  const places = `in ${unit}${first.length === 1 ? '' : 's'} ${first.join(', ')}`
  const listed = values > first.length ? `, first ${places}` : `, ${places}`
  if (table === undefined) return listed
  const isElsewhere = parseJoinedColumn(column)?.table !== table
  return `${isElsewhere ? ', where a reference finds no row' : ''}${listed} of ${table}`
}

/** Refusal of an identifier that several rows have, where each row is a privacy unit. */
export function repeatedIdentifier(position: number): Refusal {
  return refuseField(
    'source-does-not-fit',
    `columns.${position}.name`,
    'the source has several rows with the same identifier; if they belong to one person, declare the privacy unit ' +
      '{"kind": "person"} with this column',
  )
}

/** Refusal of a column whose values exceed a declared limit. */
export function beyondLimit({ position, field }: DeclaredLimit): Refusal {
  const rule = {
    'rankable.maxValues':
      'the source has more distinct values than this limit; declare a higher one or a coarser step',
    'selectable.maxValues': 'the source has more distinct values than this limit',
    'selectable.maxLength': 'the source has a value with more characters than this limit',
  }
  return refuseField('source-does-not-fit', `columns.${position}.${field}`, rule[field])
}
