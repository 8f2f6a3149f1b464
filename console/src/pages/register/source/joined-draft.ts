import { isRecord } from '../../../format/json.ts'
import type { DraftParts, Remark, Source } from '../declaration.ts'

/** A drafted file of a joined source. */
export interface DraftedTable {
  readonly fileName: string
  readonly draft: DraftParts
}

/** Longest name of a table. */
const LONGEST_NAME = 30

/** Returns the name of the table of a file: `patients-2024.csv` is `patients_2024`. */
export function tableNameOf(fileName: string): string {
  const [base = ''] = fileName.split('.')
  const name = base.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '')
  return (/^[A-Za-z]/.test(name) ? name : `table_${name}`).slice(0, LONGEST_NAME)
}

/** Makes one draft of those of several files. Each other table than that of the rows needs one join. */
export function joinedDraft(drafted: readonly DraftedTable[]): DraftParts {
  const named = drafted.map(({ fileName, draft }) => ({ table: tableNameOf(fileName), draft }))
  const columns: unknown[] = []
  const [questions, notes] = [[] as Remark[], [] as Remark[]]
  for (const { table, draft } of named) {
    const offset = columns.length
    const own = Array.isArray(draft.declaration.columns) ? draft.declaration.columns.filter(isRecord) : []
    columns.push(...own.map((column) => ({ ...column, name: `${table}.${String(column.name)}` })))
    const moved = (remarks: readonly Remark[]) =>
      remarks.flatMap(({ field, text }) => {
        const [, index, rest = ''] = /^columns\.(\d+)(.*)$/.exec(field) ?? []
        return index === undefined ? [] : [{ field: `columns.${Number(index) + offset}${rest}`, text }]
      })
    questions.push(...moved(draft.questions))
    notes.push(...moved(draft.notes))
  }
  const tables = Object.fromEntries(named.map(({ table, draft }) => [table, draft.declaration.source]))
  const joins = named.slice(1).map(() => ({ from: '', to: '', public: false }))
  const [first] = drafted
  const { id, title } = first?.draft.declaration ?? {}
  return {
    declaration: { id, title, columns, source: { kind: 'joined', tables, joins } as Source },
    questions,
    notes,
  }
}
