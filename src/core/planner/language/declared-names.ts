import type { Dataset } from '../../dataset/dataset.ts'
import { isJoined, parseJoinedColumn } from '../../dataset/joins.ts'

/** Fields of questions that name columns, alone or in a list. */
const NAMING = new Set(['column', 'columns', 'keys', 'outcome', 'predictors'])

/**
 * Writes the columns of a question as they are declared. Columns of joined tables are declared as `table.column`, and a
 * question may omit the table where one column only has the name.
 *
 * @param question a question or a predicate, parsed
 * @returns the question itself for other datasets
 */
export function withDeclaredNames<Question>(question: Question, dataset: Dataset): Question {
  if (!isJoined(dataset.source)) return question
  const names = declaredNames(dataset)
  const nameOf = (name: string) => names.get(name) ?? name
  return renamed(question, false, nameOf) as Question
}

/** The declared names by the names without a table that mean one of them. */
function declaredNames({ columns }: Dataset): ReadonlyMap<string, string> {
  const declared = new Set(columns.map(({ name }) => name))
  const names = new Map<string, string | undefined>()
  for (const { name } of columns) {
    const short = parseJoinedColumn(name)?.column
    if (short !== undefined && !declared.has(short)) names.set(short, names.has(short) ? undefined : name)
  }
  return new Map([...names].flatMap(([short, name]) => (name === undefined ? [] : [[short, name] as const])))
}

/** @param isName true if a text here is the name of a column */
function renamed(value: unknown, isName: boolean, nameOf: (name: string) => string): unknown {
  if (typeof value === 'string') return isName ? nameOf(value) : value
  if (Array.isArray(value)) return value.map((each) => renamed(each, isName, nameOf))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, each]) => {
      // The clamps of several columns are listed by their names.
      const key = field === 'clamp' ? renamedKeys(each, nameOf) : each
      return [field, renamed(key, NAMING.has(field), nameOf)]
    }),
  )
}

function renamedKeys(clamp: unknown, nameOf: (name: string) => string): unknown {
  if (typeof clamp !== 'object' || clamp === null || 'lower' in clamp || 'upper' in clamp) return clamp
  return Object.fromEntries(Object.entries(clamp).map(([name, each]) => [nameOf(name), each]))
}
