import type { Column } from '../catalog/dataset.ts'
import { type Refusal, refuseField } from '../privacy/refusal.ts'
import { rangeIsComputable } from './duckdb/encodings/numeric.ts'

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

/** @throws Refusal `source-does-not-fit` naming the first column with an invalid value that its rule refuses. */
export function refuseInvalidValues(columns: readonly Column[], invalidValues: readonly number[]): void {
  for (const [position, { type, invalidValue }] of columns.entries()) {
    if (invalidValue.kind !== 'refuse' || invalidValues[position] === 0) continue
    const rule =
      type === 'identifier'
        ? 'the source has rows without this identifier; declare onInvalidValue "dropRow" to leave them out'
        : 'the source has values that do not fit the declaration of this column'
    throw refuseField('source-does-not-fit', `columns.${position}.name`, rule)
  }
}

/** The refusal of an identifier that several rows have, where each row is a privacy unit. */
export function repeatedIdentifier(position: number): Refusal {
  return refuseField(
    'source-does-not-fit',
    `columns.${position}.name`,
    'the source has several rows with the same identifier; if they belong to one person, declare the privacy unit ' +
      '{"kind": "person"} with this column',
  )
}

/** The refusal of a column whose values exceed a declared limit. */
export function beyondLimit({ position, field }: DeclaredLimit): Refusal {
  const rule = {
    'rankable.maxValues':
      'the source has more distinct values than this limit; declare a higher one or a coarser step',
    'selectable.maxValues': 'the source has more distinct values than this limit',
    'selectable.maxLength': 'the source has a value with more characters than this limit',
  }
  return refuseField('source-does-not-fit', `columns.${position}.${field}`, rule[field])
}
