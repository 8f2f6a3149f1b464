import type { components } from './schema.ts'

type Draft = components['schemas']['Draft']
type Remark = Draft['notes'][number]

/** A draft as it is read. */
export interface DraftParts {
  readonly declaration: Readonly<Record<string, unknown>>
  readonly warning?: string
  readonly questions: readonly Remark[]
  readonly notes: readonly Remark[]
  readonly dataHints?: readonly Remark[]
}

/** The draft of a file that is a table of a joined source. */
export interface DraftedTable {
  readonly fileName: string
  readonly draft: DraftParts
}

const FACTS_NOTE =
  'Two facts of one person, such as visits and prescriptions, are joined at the column of the privacy unit, with the rows of a ' +
  'person that are combined: "maxRows": {"visits": 20, "prescriptions": 10}.'

/** Longest name of a table. */
const LONGEST_NAME = 30

/** Returns the name of the table of a file: `patients-2024.csv` is `patients_2024`. */
export function tableNameOf(fileName: string): string {
  const [base = ''] = fileName.split('.')
  const name = base.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '')
  return (/^[A-Za-z]/.test(name) ? name : `table_${name}`).slice(0, LONGEST_NAME)
}

/**
 * Makes one draft of those of several files. Each table but that of the rows needs one join.
 * @param open the value of the ends of joins, which are to be declared
 */
export function joinedDraft(drafted: readonly DraftedTable[], open: string): Draft {
  const named = drafted.map(({ fileName, draft }) => ({ table: tableNameOf(fileName), draft }))
  const columns: object[] = []
  const remarks = { questions: [] as Remark[], notes: [] as Remark[], dataHints: [] as Remark[] }
  for (const [place, { table, draft }] of named.entries()) {
    const offset = columns.length
    const own: readonly { readonly name?: unknown }[] = Array.isArray(draft.declaration.columns)
      ? draft.declaration.columns
      : []
    columns.push(...own.map((column) => ({ ...column, name: `${table}.${String(column.name)}` })))
    for (const kind of ['questions', 'notes', 'dataHints'] as const)
      for (const { field, text } of draft[kind] ?? []) {
        const [, index, rest = ''] = /^columns\.(\d+)(.*)$/.exec(field) ?? []
        if (index !== undefined)
          remarks[kind].push({ field: `columns.${Number(index) + offset}${rest}`, text })
        // Questions about the whole dataset are those of the first table only.
        else if (place === 0 && kind === 'questions') remarks[kind].push({ field, text })
      }
  }
  remarks.notes.push({ field: 'source.joins', text: FACTS_NOTE })
  const tables = Object.fromEntries(named.map(({ table, draft }) => [table, draft.declaration.source]))
  const joins = named.slice(1).map(() => ({ from: open, to: open, public: false }))
  const [first] = drafted
  const declaration = { ...first?.draft.declaration, source: { kind: 'joined', tables, joins }, columns }
  return { declaration, warning: first?.draft.warning ?? '', ...remarks }
}
