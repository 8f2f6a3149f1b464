import { createHash } from 'node:crypto'
import type { Column, Dataset, GridColumn } from '../../core/dataset/dataset.ts'
import { type JoinTree, joinTree } from '../../core/dataset/joins.ts'
import { defined } from '../../privacy/defined.ts'
import { refuseField } from '../../privacy/refusal.ts'

/**
 * The declared facts from which rows are made up. It contains no other fact of a dataset: not its id, its source, its
 * version, its public numbers of rows and people, or anything that was counted. Rows that are made from it are therefore the
 * same for every dataset with this declaration.
 */
export interface DummyDeclaration extends Pick<Dataset, 'columns' | 'privacyUnit'> {
  /** The joins of a joined dataset. Of its source, nothing else is declared to analysts. */
  readonly joins?: JoinTree
}

/** The facts of a dataset that declare rows. */
type Declaring = Pick<Dataset, 'columns' | 'privacyUnit'> & Partial<Pick<Dataset, 'source'>>

/** The number of rows, and the seed that they follow from. */
export interface DummySize {
  readonly rows: number
  readonly seed: string
}

/** A made-up value in stored form: a grid index, the place of a category, a boolean, a text or NULL. */
export type DummyValue = bigint | number | boolean | string | null

/** Largest number of rows. */
const MOST_DUMMY_ROWS = 100_000

/** Largest number of values in all rows together, which bounds the work. 40 columns may have the most rows. */
const MOST_DUMMY_VALUES = 4_000_000

/** Returns the declared facts of a dataset, copied one by one. See decision 47. */
export function dummyDeclaration({ columns, privacyUnit, source }: Declaring): DummyDeclaration {
  const unit: Dataset['privacyUnit'] =
    privacyUnit.kind === 'row'
      ? { kind: 'row' }
      : { kind: 'person', column: privacyUnit.column, maxRows: privacyUnit.maxRows }
  const joins = source && joinTree({ source, privacyUnit, columns: [] }, () => undefined)
  return defined({ columns: columns.map(declaredColumn), privacyUnit: unit, joins })
}

/** The spelling of values in made-up files, which all fit their columns. How the source spells them is no fact of the values. */
const refuse = { kind: 'refuse' } as const
const dateFormat = 'YYYY-MM-DD'
const timeZone = 'UTC'

function declaredColumn(column: Column): Column {
  const { name, type } = column
  if (type === 'identifier') return { name, type, nullable: false, invalidValue: refuse }
  const { nullable } = column
  const constantPerPerson = column.constantPerPerson || undefined
  const invalidValue = nullable ? ({ kind: 'null' } as const) : refuse
  const facts = defined({ name, nullable, constantPerPerson, invalidValue })
  switch (type) {
    case 'integer':
    case 'number':
      return { ...facts, ...declaredGrid(column), type }
    case 'date':
      return { ...facts, ...declaredGrid(column), type, dateFormat }
    case 'timestamp':
      return { ...facts, ...declaredGrid(column), type, dateFormat, timeZone }
    case 'boolean':
      return { ...facts, type }
    case 'category':
      return { ...facts, type, categories: column.categories }
    case 'string': {
      const { selectable } = column
      if (selectable === undefined) return { ...facts, type }
      const { maxValues, maxLength } = selectable
      return { ...facts, type, selectable: { maxValues, maxLength } }
    }
  }
}

function declaredGrid({ stepNano, lowerIndex, upperIndex, rankable }: GridColumn) {
  const limit = rankable && { maxValues: rankable.maxValues }
  return defined({ stepNano, lowerIndex, upperIndex, rankable: limit })
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
