import { refuseField } from '../privacy/refusal.ts'
import type { ColumnDeclaration, DatasetDeclaration } from './declaration.ts'

/** Changes of the texts that describe a dataset. An absent text stays as it is; `null` removes it. */
export interface DescriptionChange {
  readonly title?: string | undefined
  readonly description?: string | null | undefined
  readonly columns?: readonly ColumnDescriptionChange[] | undefined
}

/** Changes of the texts that describe a column. */
export interface ColumnDescriptionChange {
  readonly name: string
  readonly description?: string | null | undefined
  readonly unit?: string | null | undefined
}

/**
 * Changes the texts that describe a dataset. They are the only part of a declaration on which no answer depends.
 * @throws Refusal `invalid-request` for a column that is not declared, or is named twice, or has no unit.
 */
export function describeAgain(
  declaration: DatasetDeclaration,
  { title = declaration.title, description, columns = [] }: DescriptionChange,
): DatasetDeclaration {
  for (const [position, { name, unit }] of columns.entries()) {
    const field = `columns.${position}`
    const column = declaration.columns.find((each) => each.name === name)
    if (column === undefined)
      throw refuseField('invalid-request', `${field}.name`, 'must be the name of a column')
    if (columns.findIndex((each) => each.name === name) !== position)
      throw refuseField('invalid-request', `${field}.name`, 'must not be named twice')
    if (unit !== undefined && !hasUnit(column))
      throw refuseField('invalid-request', `${field}.unit`, 'must not be set: only numbers have a unit')
  }
  const changed = withText(declaration, 'description', description)
  return {
    ...changed,
    title,
    columns: declaration.columns.map((column) => {
      const change = columns.find(({ name }) => name === column.name)
      const described = withText(column, 'description', change?.description)
      return hasUnit(described) ? withText(described, 'unit', change?.unit) : described
    }),
  }
}

/** Returns columns without the texts that describe them. */
export function withoutDescriptions(columns: readonly ColumnDeclaration[]): readonly ColumnDeclaration[] {
  return columns.map((column) => {
    const described = withText(column, 'description', null)
    return hasUnit(described) ? withText(described, 'unit', null) : described
  })
}

/** Returns columns with the texts of columns of the same names, unless they have texts of their own. */
export function withDescriptionsOf(
  columns: readonly ColumnDeclaration[],
  before: readonly ColumnDeclaration[],
): readonly ColumnDeclaration[] {
  return columns.map((column) => {
    const known = before.find(({ name }) => name === column.name)
    if (known === undefined) return column
    const described = withText(column, 'description', column.description ?? known.description)
    return hasUnit(described) && hasUnit(known)
      ? withText(described, 'unit', described.unit ?? known.unit)
      : described
  })
}

function hasUnit(
  column: ColumnDeclaration,
): column is Extract<ColumnDeclaration, { readonly unit?: unknown }> {
  return column.type === 'integer' || column.type === 'number'
}

function withText<Described, Name extends keyof Described>(
  described: Described,
  name: Name,
  text: string | null | undefined,
): Described {
  if (text === undefined) return described
  const { [name]: _, ...others } = described
  // The type of `others` loses its relation to `Described`, of which only an optional text is missing.
  return (text === null ? others : { ...others, [name]: text }) as Described
}
