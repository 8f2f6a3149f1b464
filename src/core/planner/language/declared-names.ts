import type { Dataset } from '../../dataset/dataset.ts'
import { columnNamed } from './columns.ts'

/** Fields of questions that name columns, alone or in a list. */
const NAMING = new Set(['column', 'columns', 'keys', 'outcome', 'predictors'])

/**
 * Writes the columns of a question by their one name: as they are declared, and expressions in their normal form. Columns of
 * joined tables are declared as `table.column`, and a question may omit the table where one column only has the name.
 *
 * @param question a question or a predicate, parsed
 * @returns the question itself if it is written so already
 */
export function withDeclaredNames<Question>(question: Question, dataset: Dataset): Question {
  const nameOf = (name: string) => columnNamed(dataset, name)?.name ?? name
  return renamed(question, false, nameOf) as Question
}

/** @param isName true if a text here is the name of a column */
function renamed(value: unknown, isName: boolean, nameOf: (name: string) => string): unknown {
  if (typeof value === 'string') return isName ? nameOf(value) : value
  if (Array.isArray(value)) {
    const each = value.map((part) => renamed(part, isName, nameOf))
    return each.every((part, place) => part === value[place]) ? value : each
  }
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
  const changed = fields.map(([field, each]) => {
    // The clamps of several columns are listed by their names.
    const key = field === 'clamp' ? renamedKeys(each, nameOf) : each
    return [field, renamed(key, NAMING.has(field), nameOf)] as const
  })
  return changed.every(([, each], place) => each === fields[place]?.[1]) ? value : Object.fromEntries(changed)
}

function renamedKeys(clamp: unknown, nameOf: (name: string) => string): unknown {
  if (typeof clamp !== 'object' || clamp === null || 'lower' in clamp || 'upper' in clamp) return clamp
  const clamps = Object.entries(clamp)
  if (clamps.every(([name]) => nameOf(name) === name)) return clamp
  return Object.fromEntries(clamps.map(([name, each]) => [nameOf(name), each]))
}
