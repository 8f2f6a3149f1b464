import { declareDataset } from '../../../../../src/core/dataset/declaration.ts'
import { factsOf } from '../../../../../src/core/dataset/derived-facts.ts'
import { findColumn } from '../../../../../src/core/planner/language/columns.ts'
import { type AskedDataset, allColumns, type Column, type Dataset } from '../../datasets/dataset.ts'

/** Reads expressions over the columns of a dataset, as the service does. */
export type ReadExpression = (text: string) => { readonly column: Column } | { readonly rule: string }

/** Returns the reader of expressions over the columns of a dataset. */
export function expressionsOver(dataset: Dataset): ReadExpression {
  const declared = declareDataset(dataset, dataset.version)
  return (text): ReturnType<ReadExpression> => {
    const found = findColumn(declared, text)
    if (!('column' in found)) return { rule: found.rule ?? `names no column "${text}"` }
    const { name, formula } = found.column
    if (formula === undefined) return { rule: `is the column ${name}` }
    // Lists of documents are read-only for the service alone.
    return { column: { name, expression: name, ...factsOf(found.column) } as Column }
  }
}

/** Returns a dataset with its derived columns, those that a question computes, and further ones, beside its own. */
export function withExpressions(
  dataset: Dataset,
  read: ReadExpression,
  question: object,
  further: readonly Column[],
): AskedDataset {
  const columns = new Map([...allColumns(dataset), ...further].map((column) => [column.name, column]))
  for (const text of textsIn(question)) {
    const found = columns.has(text) ? { rule: '' } : read(text)
    if ('column' in found) columns.set(text, { ...found.column, name: text })
  }
  return { ...dataset, columns: [...columns.values()] }
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
