import { createHash } from 'node:crypto'
import type { Dataset } from '../catalog/dataset.ts'
import { refuseField } from '../privacy/refusal.ts'

/**
 * The declared facts from which rows are made up. It contains no other fact of a dataset: not its id, its source, its
 * version, its public numbers of rows and people, or anything that was counted. Rows that are made from it are therefore the
 * same for every dataset with this declaration.
 */
export interface DummyDeclaration {
  readonly columns: readonly DummyColumn[]
  /** Present if people are the privacy units. */
  readonly person?: { readonly column: string; readonly maxRows: number }
}

interface DummyFacts {
  readonly name: string
  readonly nullable: boolean
  readonly constantPerPerson: boolean
}

/** A column of numbers, dates or timestamps: value = index * step. */
export interface DummyGridColumn extends DummyFacts {
  readonly type: 'integer' | 'number' | 'date' | 'timestamp'
  readonly stepNano: bigint
  readonly lowerIndex: bigint
  readonly upperIndex: bigint
  /** Largest number of distinct values, if it is declared. */
  readonly maxValues?: number
}

/** A column of free text. */
export interface DummyTextColumn extends DummyFacts {
  readonly type: 'string'
  /** Limits on the number of distinct values and on their characters, if they are declared. */
  readonly maxValues?: number
  readonly maxLength?: number
}

/** Declared facts of a column. */
export type DummyColumn =
  | DummyGridColumn
  | DummyTextColumn
  | (DummyFacts & { readonly type: 'boolean' })
  | (DummyFacts & { readonly type: 'category'; readonly categories: readonly string[] })
  | { readonly type: 'identifier'; readonly name: string }

/** The number of rows, and the seed that they follow from. */
export interface DummySize {
  readonly rows: number
  readonly seed: string
}

/** Largest number of rows. */
const MOST_DUMMY_ROWS = 100_000

/** Largest number of values in all rows together, which bounds the work. 40 columns may have the most rows. */
const MOST_DUMMY_VALUES = 4_000_000

/** Returns the declared facts of a dataset, copied one by one. */
export function dummyDeclaration({
  columns,
  privacyUnit,
}: Pick<Dataset, 'columns' | 'privacyUnit'>): DummyDeclaration {
  return {
    columns: columns.map(declaredColumn),
    ...(privacyUnit.kind === 'row'
      ? {}
      : { person: { column: privacyUnit.column, maxRows: privacyUnit.maxRows } }),
  }
}

function declaredColumn(column: Dataset['columns'][number]): DummyColumn {
  const { name, type } = column
  if (type === 'identifier') return { name, type }
  const { nullable, constantPerPerson = false } = column
  const facts = { name, nullable, constantPerPerson }
  switch (type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp': {
      const { stepNano, lowerIndex, upperIndex, rankable } = column
      const limits = rankable === undefined ? {} : { maxValues: rankable.maxValues }
      return { ...facts, type, stepNano, lowerIndex, upperIndex, ...limits }
    }
    case 'boolean':
      return { ...facts, type }
    case 'category':
      return { ...facts, type, categories: column.categories }
    case 'string': {
      const { selectable } = column
      if (selectable === undefined) return { ...facts, type }
      const { maxValues, maxLength } = selectable
      return { ...facts, type, maxValues, maxLength }
    }
  }
}

/** Returns a text that is equal for equal declarations and sizes, and for no others. */
export function dummyKey(declaration: DummyDeclaration, { rows, seed }: DummySize): string {
  const text = JSON.stringify([declaration, rows, seed], (_, value) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )
  return createHash('sha256').update(text).digest('hex')
}

/**
 * Requires that a number of rows has few enough values.
 * @throws Refusal `invalid-request`
 */
export function requireFewValues({ columns }: DummyDeclaration, { rows }: Pick<DummySize, 'rows'>): void {
  const most = Math.min(MOST_DUMMY_ROWS, Math.floor(MOST_DUMMY_VALUES / columns.length))
  if (rows > most)
    throw refuseField('invalid-request', 'rows', `must be at most ${most} for ${columns.length} columns`)
}
