import { must } from '../../../privacy/must.ts'
import type { DescribedColumn, DescribedType, Remark, SampledValues } from './described.ts'
import { OPEN_QUESTION } from './open-questions.ts'

/** A proposed declaration of one column. */
export interface DraftedColumn {
  readonly declaration: Readonly<Record<string, unknown>> & { readonly name: string; readonly type: string }
  readonly questions?: readonly Remark[]
  readonly notes?: readonly Remark[]
  readonly dataHints?: readonly Remark[]
}

/** Smallest number of sampled rows in which values that never repeat suggest an identifier. */
const ENOUGH_ROWS = 100

/** Longest value of an identifier, in characters. Longer texts that never repeat are free text. */
const LONGEST_IDENTIFIER = 64

/** Names of columns that usually identify people or rows. */
const IDENTIFIER_NAME =
  /^(id|uuid|guid|ssn|mrn|pid|email|e-mail|(patient|person|customer|user|client|member|employee|subject|participant|student|account|household)([_ -]?(id|no|nr|num|number|key|code))?)$|[_ -](id|uuid|guid|ssn)$|[a-z](Id|ID)$/i

/**
 * Proposes the declaration of a column.
 * @param field the path of the column in the declaration, such as `columns.2`
 */
export function draftColumn(column: DescribedColumn, field: string): DraftedColumn {
  const { name, type } = column
  const reason = identifierReason(column)
  if (reason !== undefined)
    return {
      declaration: { name, type: 'identifier' },
      notes: [
        { field, text: `Looks like an identifier: ${reason}. Its values are compared and never stored.` },
      ],
    }
  switch (type.kind) {
    case 'integer':
    case 'number':
      return draftNumbers(column, type.kind, field)
    case 'date':
    case 'timestamp':
      return draftTimes(column, type, field)
    case 'boolean':
      return { declaration: { name, type: 'boolean', ...nullability(column) } }
    case 'text':
      return isCategory(column.sampled) ? draftCategory(column, field) : draftFreeText(column, field)
    case 'uuid':
    case 'other':
      throw new RangeError('a column of this type is an identifier or left out')
  }
}

/** A column is nullable unless a database excludes NULL: a public declaration must not show if NULL occurs in the data. */
function nullability({ notNull }: DescribedColumn): { readonly nullable?: true } {
  return notNull ? {} : { nullable: true }
}

function draftNumbers(column: DescribedColumn, type: 'integer' | 'number', field: string): DraftedColumn {
  const { name, sampled } = column
  const bounds = { lower: OPEN_QUESTION, upper: OPEN_QUESTION }
  const isWhole = type === 'integer'
  const step = {
    field: `${field}.step`,
    text: `Precision at which ${name} is measured, such as 0.5 or 0.01.`,
  }
  return {
    declaration: { name, type, ...bounds, step: isWhole ? 1 : OPEN_QUESTION, ...nullability(column) },
    questions: [...boundQuestions(field, 'value', name), ...(isWhole ? [] : [step])],
    notes: isWhole && mayBeCodes(sampled) ? [{ field, text: CODES_NOTE }] : [],
    dataHints: boundHints(field, sampled),
  }
}

function draftTimes(
  column: DescribedColumn,
  { kind, dateFormat = 'YYYY-MM-DD' }: Extract<DescribedType, { kind: 'date' | 'timestamp' }>,
  field: string,
): DraftedColumn {
  const { name } = column
  const bounds = { lower: OPEN_QUESTION, upper: OPEN_QUESTION }
  const isIso = dateFormat === 'YYYY-MM-DD'
  const format = isIso ? {} : { dateFormat }
  const notes = isIso ? [] : [{ field: `${field}.dateFormat`, text: 'Check the order of day and month.' }]
  // In other formats the least text is not the first date.
  const dataHints = isIso ? boundHints(field, column.sampled) : []
  if (kind === 'date')
    return {
      declaration: { name, type: kind, ...bounds, step: 1, ...format, ...nullability(column) },
      questions: boundQuestions(field, 'date (YYYY-MM-DD)', name),
      notes,
      dataHints,
    }
  const resolution = { step: OPEN_QUESTION, timeZone: OPEN_QUESTION }
  return {
    declaration: { name, type: kind, ...bounds, ...resolution, ...format, ...nullability(column) },
    questions: [
      ...boundQuestions(field, 'time', name),
      { field: `${field}.step`, text: `Resolution of ${name} in whole seconds, such as 60.` },
      {
        field: `${field}.timeZone`,
        text: 'IANA time zone of values without an offset, such as Europe/Berlin.',
      },
    ],
    notes,
    dataHints,
  }
}

function draftCategory(column: DescribedColumn, field: string): DraftedColumn {
  const { name, sampled } = column
  const values = must(sampled?.values, 'the values of a category')
  const at = `${field}.categories`
  return {
    declaration: { name, type: 'category', categories: OPEN_QUESTION, ...nullability(column) },
    questions: [{ field: at, text: `All values that ${name} can have, whether they occur or not.` }],
    notes: [
      { field, text: 'Has few distinct values. If it is free text, declare it as such (type string).' },
    ],
    dataHints: [{ field: at, text: `in the first rows: ${JSON.stringify(values)}` }],
  }
}

function draftFreeText(column: DescribedColumn, field: string): DraftedColumn {
  const text =
    'Free text. If it has a fixed list of values, declare the type category. If it identifies people, declare the type identifier.'
  return {
    declaration: { name: column.name, type: 'string', ...nullability(column) },
    notes: [{ field, text }],
  }
}

/** Returns the reason why a column seems to identify people or rows, if it does. */
function identifierReason({ name, type, sampled }: DescribedColumn): string | undefined {
  if (type.kind === 'uuid') return 'it has UUIDs'
  if (type.kind !== 'integer' && type.kind !== 'text') return undefined
  if (IDENTIFIER_NAME.test(name)) return 'its name suggests it'
  if (sampled === undefined || sampled.longest > LONGEST_IDENTIFIER) return undefined
  const present = sampled.rows - sampled.nulls
  return present >= ENOUGH_ROWS && sampled.distinct === present
    ? 'no value repeats in the first rows'
    : undefined
}

/** True for a column with few distinct values, each of which occurs twice on average. */
function isCategory(sampled: SampledValues | undefined): boolean {
  return (
    sampled?.values !== undefined &&
    sampled.distinct > 0 &&
    sampled.distinct <= Math.max(1, (sampled.rows - sampled.nulls) / 2)
  )
}

const CODES_NOTE = 'Has few distinct values. If they are codes, declare the type category.'

/** True for a column of whole numbers with few values, which may be codes. */
function mayBeCodes(sampled: SampledValues | undefined): boolean {
  return sampled !== undefined && sampled.distinct <= 10 && sampled.rows >= ENOUGH_ROWS
}

function boundQuestions(field: string, unit: string, name: string): readonly Remark[] {
  return [
    {
      field: `${field}.lower`,
      text: `Smallest plausible ${unit} of ${name}. Smaller ones are clamped to it.`,
    },
    { field: `${field}.upper`, text: `Largest plausible ${unit} of ${name}. Larger ones are clamped to it.` },
  ]
}

function boundHints(field: string, sampled: SampledValues | undefined): readonly Remark[] {
  if (sampled?.least === undefined || sampled.largest === undefined) return []
  return [
    { field: `${field}.lower`, text: `smallest in the first rows: ${sampled.least}` },
    { field: `${field}.upper`, text: `largest in the first rows: ${sampled.largest}` },
  ]
}
