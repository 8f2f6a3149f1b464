import type { Clamp, Clamps } from '../../answers/question-text.ts'
import type { Column, DatasetFacts } from '../../datasets/dataset.ts'
import { fieldValue, withField } from '../question/question.ts'

/** A column whose values can be clamped. */
export type ClampableColumn = Extract<Column, { lower: unknown }>

/** Returns the columns of a question or a statistic whose values it can clamp. */
export function clampableColumns(asked: object, { columns }: DatasetFacts): readonly ClampableColumn[] {
  // A number of rows has no values to clamp.
  if (fieldValue(asked, 'perPerson') === 'count') return []
  const names = namedColumns(asked)
  return columns.filter((column) => 'lower' in column && names.includes(column.name)) as ClampableColumn[]
}

function namedColumns(asked: object): readonly unknown[] {
  return ['column', 'columns', 'outcome', 'predictors'].flatMap((field) => fieldValue(asked, field))
}

/** Returns the bounds of a column as a clamp, which changes nothing. */
export function declaredBounds({ lower, upper }: ClampableColumn): Clamp {
  return { lower, upper }
}

/** Returns clamps with that of one column, or without it; undefined without any. */
export function withClampOf(clamps: Clamps, name: string, clamp: Clamp | undefined): Clamps | undefined {
  const all = withField(clamps, name, clamp)
  return Object.keys(all).length === 0 ? undefined : all
}

/** Returns a question or a statistic without the clamps of columns that it was about before. */
export function withFittingClamp<Asked extends object>(before: object, asked: Asked): Asked {
  const clamp = fieldValue(asked, 'clamp') as Clamps | undefined
  if (clamp === undefined) return asked
  const names = namedColumns(asked)
  if (fieldValue(asked, 'column') !== undefined) {
    const isKept =
      fieldValue(before, 'column') === fieldValue(asked, 'column') &&
      fieldValue(asked, 'perPerson') !== 'count'
    return isKept ? asked : withField(asked, 'clamp', undefined)
  }
  const kept = Object.entries(clamp).filter(([name]) => names.includes(name))
  return withField(asked, 'clamp', kept.length === 0 ? undefined : Object.fromEntries(kept))
}
