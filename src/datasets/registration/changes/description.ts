import type { z } from 'zod'
import type { descriptionChange } from '../../../../schemas/datasets/dataset.ts'
import type { ColumnDeclaration, DatasetDeclaration } from '../../../core/dataset/declaration.ts'
import { refuseField } from '../../../privacy/refusal.ts'

/** Changes of the texts that describe a dataset. An absent text stays as it is; `null` removes it. */
export type DescriptionChange = z.output<typeof descriptionChange>

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
    const column = [...declaration.columns, ...(declaration.derived ?? [])].find((each) => each.name === name)
    if (column === undefined)
      throw refuseField('invalid-request', `${field}.name`, 'must be the name of a column')
    if (columns.findIndex((each) => each.name === name) !== position)
      throw refuseField('invalid-request', `${field}.name`, 'must not be named twice')
    if (unit !== undefined && 'type' in column && !hasUnit(column))
      throw refuseField('invalid-request', `${field}.unit`, 'must not be set: only numbers have a unit')
  }
  const textsOf = (column: { readonly name: string }) =>
    columns.find(({ name }) => name === column.name) ?? {}
  const { derived } = declaration
  return {
    ...withText(declaration, 'description', description),
    title,
    columns: declaration.columns.map((column) => described(column, textsOf(column))),
    ...(derived === undefined
      ? {}
      : { derived: derived.map((column) => withTexts(column, textsOf(column))) }),
  }
}

/** Returns columns without the texts that describe them. */
export function withoutDescriptions(columns: readonly ColumnDeclaration[]): readonly ColumnDeclaration[] {
  return columns.map((column) => described(column, { description: null, unit: null }))
}

/** Returns columns with the texts of columns of the same names, unless they have texts of their own. */
export function withDescriptionsOf(
  columns: readonly ColumnDeclaration[],
  before: readonly ColumnDeclaration[],
): readonly ColumnDeclaration[] {
  return columns.map((column) => {
    const known = before.find(({ name }) => name === column.name)
    if (known === undefined) return column
    const description = column.description ?? known.description
    return described(column, { description, unit: unitOf(column) ?? unitOf(known) })
  })
}

function unitOf(column: ColumnDeclaration): string | undefined {
  return hasUnit(column) ? column.unit : undefined
}

type Texts = Omit<NonNullable<DescriptionChange['columns']>[number], 'name'>

/** Returns a column with other texts, of which only numbers have a unit. */
function described(column: ColumnDeclaration, { description, unit }: Texts): ColumnDeclaration {
  return hasUnit(column)
    ? withTexts(column, { description, unit })
    : withText(column, 'description', description)
}

function withTexts<Described extends { description?: unknown; unit?: unknown }>(
  column: Described,
  { description, unit }: Texts,
): Described {
  return withText(withText(column, 'description', description), 'unit', unit)
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
