import { type DraftedColumn, draftColumn } from './column.ts'
import { type DescribedColumn, type DescribedSource, MOST_COLUMNS, type Remark } from './described.ts'
import { OPEN_QUESTION } from './open-questions.ts'

/** A proposed declaration. */
export interface Draft {
  /** A registration whose open questions have the value `TODO`. */
  readonly declaration: Readonly<Record<string, unknown>>
  /** The reason why values of the data must not be published. */
  readonly warning: string
  /** Everything that the custodian has to decide. */
  readonly questions: readonly Remark[]
  /** Reasons for what is proposed. */
  readonly notes: readonly Remark[]
  /** Values of the data. Present only if the custodian asked for them. */
  readonly dataHints?: readonly Remark[]
}

const WARNING =
  'Everything in a declaration is public, and nothing in it is protected by noise. A bound, a step or a list of categories ' +
  'that is taken from the data reveals values of single people. Answer the questions from knowledge of how the data come ' +
  'about: the questionnaire, the law, the system that produced the file.'

/** Proposes a declaration of a source. */
export function draftDeclaration(described: DescribedSource, showDataHints: boolean): Draft {
  const usable = described.columns.filter(({ type }) => type.kind !== 'other').slice(0, MOST_COLUMNS)
  const columns = usable.map((column, position) =>
    ofTable(column, draftColumn(column, `columns.${position}`)),
  )
  const identifiers = columns.flatMap(({ declaration: { type, name } }) =>
    type === 'identifier' ? [name] : [],
  )
  const leftOut = described.columns.filter((column) => !usable.includes(column))
  const declaration = {
    id: idFrom(described.name),
    title: titleFrom(described.name),
    source: described.source,
    columns: columns.map((column) => column.declaration),
    privacyUnit: OPEN_QUESTION,
    neighbours: 'add-remove',
    budget: { epsilon: OPEN_QUESTION },
  }
  return {
    declaration,
    warning: WARNING,
    questions: [
      ...(described.questions ?? []),
      ...columns.flatMap(({ questions = [] }) => questions),
      { field: 'privacyUnit', text: unitQuestion(identifiers) },
      {
        field: 'budget.epsilon',
        text: 'How much may all answers together reveal? For real people 1 to 3 in all is usual.',
      },
    ],
    notes: [
      ...described.notes,
      ...notesOnLeftOut(leftOut),
      ...columns.flatMap(({ notes = [] }) => notes),
      {
        field: 'neighbours',
        text: '"add-remove" keeps the number of people private. "change-one" makes it public. It is fixed for this id.',
      },
    ],
    ...(showDataHints && { dataHints: columns.flatMap(({ dataHints = [] }) => dataHints) }),
  }
}

/** Names the table of a column. */
function ofTable({ table }: DescribedColumn, drafted: DraftedColumn): DraftedColumn {
  if (table === undefined) return drafted
  const { declaration } = drafted
  return { ...drafted, declaration: { ...declaration, name: `${table}.${declaration.name}` } }
}

/** Remarks on the columns that the draft leaves out. Of those beyond the limit only the first is named. */
function notesOnLeftOut(leftOut: readonly DescribedColumn[]): readonly Remark[] {
  const remark = (text: string) => ({ field: 'columns', text })
  const ofOtherType = leftOut.flatMap(({ name, type }) =>
    type.kind === 'other' ? [remark(`${JSON.stringify(name)} is left out: its type is ${type.name}.`)] : [],
  )
  const [first, ...others] = leftOut.filter(({ type }) => type.kind !== 'other')
  if (first === undefined) return ofOtherType
  const columns = `${JSON.stringify(first.name)} ${others.length === 0 ? 'is' : `and ${others.length} more are`}`
  return [...ofOtherType, remark(`${columns} left out: there are more than ${MOST_COLUMNS} columns.`)]
}

function unitQuestion(identifiers: readonly string[]): string {
  const column = identifiers[0] ?? 'a column of type identifier'
  return (
    'Can one person have several rows? If not: {"kind": "row"}. If so: {"kind": "person", "column": ' +
    `${JSON.stringify(column)}, "maxRows": n}, where n is the largest number of rows to keep of each person.`
  )
}

/** Derives an id from the name of a file or table. */
function idFrom(name: string): string {
  const words = stem(name)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
  return words.slice(0, 63).replace(/-+$/, '') || 'dataset'
}

function titleFrom(name: string): string {
  const words = stem(name).replace(/[_-]+/g, ' ').trim()
  return words === '' ? 'Dataset' : words.charAt(0).toUpperCase() + words.slice(1, 200)
}

/** Returns a name without folders and extensions. */
function stem(name: string): string {
  return name.replace(/^.*\//s, '').replace(/(\.(csv|tsv|txt|parquet|gz))+$/i, '')
}
