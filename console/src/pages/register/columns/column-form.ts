import { defined } from '../../../../../src/privacy/defined.ts'
import type { Schemas } from '../../../api/schemas.ts'
import { isRecord } from '../../../format/json.ts'
import { numberOf } from '../../../format/number.ts'

export type DeclaredColumn = NonNullable<Schemas['Registration']['columns']>[number]

/** Types of columns, with their titles. */
export const COLUMN_TYPES = [
  ['integer', 'Whole number'],
  ['number', 'Number'],
  ['date', 'Date'],
  ['timestamp', 'Date and time'],
  ['boolean', 'True or false'],
  ['category', 'Category'],
  ['string', 'Free text'],
  ['identifier', 'Identifies a person'],
] as const

export const DATE_FORMATS = [
  'YYYY-MM-DD',
  'YYYY/MM/DD',
  'YYYYMMDD',
  'DD.MM.YYYY',
  'DD/MM/YYYY',
  'DD-MM-YYYY',
  'MM/DD/YYYY',
  'MM-DD-YYYY',
] as const
type DateFormat = (typeof DATE_FORMATS)[number]

/** Rules for values that do not fit; `default` leaves the rule to the service. */
export type InvalidRule = 'default' | 'null' | 'refuse' | 'dropRow' | 'replaceWith'

/** One column of a declaration, as it was entered. Fields that its type does not have are kept and not sent. */
export interface ColumnForm {
  readonly name: string
  /** Position in the draft, to which its questions and notes refer. */
  readonly position: number
  /** False for a column of the source that is not declared, and so not stored. */
  readonly included: boolean
  readonly type: (typeof COLUMN_TYPES)[number][0]
  readonly description: string
  readonly unit: string
  readonly lower: string
  readonly upper: string
  readonly step: string
  readonly dateFormat: DateFormat
  readonly timeZone: string
  /** One category per line. */
  readonly categories: string
  readonly nullable: boolean
  readonly onInvalidValue: InvalidRule
  readonly replaceWith: string
  readonly constantPerPerson: boolean
  /** Largest number of distinct values; empty for none. */
  readonly rankable: string
  readonly selectable: boolean
  readonly maxValues: string
  readonly maxLength: string
}

/** A field that is still open or has no usable value, and the rule that it breaks. */
export interface OpenField {
  readonly field: string
  readonly rule: string
}

/** Value of a field that a draft leaves open. */
const OPEN_QUESTION = 'TODO'

/** Returns the form of a column of a draft or of a registered dataset. */
export function formOfColumn(declared: Readonly<Record<string, unknown>>, position: number): ColumnForm {
  const { name, type, categories, onInvalidValue, rankable, selectable } = declared
  const rule = ruleOf(onInvalidValue)
  const limits = isRecord(selectable) ? selectable : {}
  return {
    name: String(name),
    position,
    included: true,
    type: COLUMN_TYPES.find(([each]) => each === type)?.[0] ?? 'string',
    description: textOf(declared.description),
    unit: textOf(declared.unit),
    lower: textOf(declared.lower),
    upper: textOf(declared.upper),
    step: textOf(declared.step),
    dateFormat: DATE_FORMATS.find((each) => each === declared.dateFormat) ?? 'YYYY-MM-DD',
    timeZone: textOf(declared.timeZone),
    categories: Array.isArray(categories) ? categories.join('\n') : '',
    nullable: declared.nullable === true,
    onInvalidValue: rule,
    replaceWith: isRecord(onInvalidValue) ? textOf(onInvalidValue.replaceWith) : '',
    constantPerPerson: declared.constantPerPerson === true,
    rankable: isRecord(rankable) ? textOf(rankable.maxValues) : '',
    selectable: selectable === true || isRecord(selectable),
    maxValues: textOf(limits.maxValues),
    maxLength: textOf(limits.maxLength),
  }
}

/** Returns the declaration of a column. Fields that are still open are absent. */
export function declaredColumn(form: ColumnForm): DeclaredColumn {
  const { type, onInvalidValue: rule } = form
  const facts = {
    name: form.name,
    description: form.description.trim() || undefined,
    nullable: form.nullable || undefined,
  }
  if (type === 'identifier')
    return defined({
      ...facts,
      type,
      onInvalidValue: rule === 'dropRow' || rule === 'refuse' ? rule : undefined,
    })
  const shared = {
    ...facts,
    constantPerPerson: form.constantPerPerson || undefined,
    onInvalidValue: invalidRuleOf(form),
  }
  const maxRanked = numberOf(form.rankable)
  const rankable = maxRanked === undefined ? undefined : { maxValues: maxRanked }
  switch (type) {
    case 'boolean':
      return defined({ ...shared, type })
    case 'string':
      return defined({ ...shared, type, selectable: form.selectable ? selectableOf(form) : undefined })
    case 'category':
      return defined({ ...shared, type, categories: categoriesOf(form) })
    case 'integer':
    case 'number':
      return defined({
        ...shared,
        type,
        unit: form.unit.trim() || undefined,
        lower: numberOf(form.lower) ?? Number.NaN,
        upper: numberOf(form.upper) ?? Number.NaN,
        step: numberOf(form.step) ?? (type === 'integer' ? 1 : Number.NaN),
        rankable,
      })
    case 'date':
    case 'timestamp': {
      const times = {
        ...shared,
        lower: form.lower.trim(),
        upper: form.upper.trim(),
        step: numberOf(form.step),
        dateFormat: form.dateFormat,
        rankable,
      }
      return type === 'date'
        ? defined({ ...times, type })
        : defined({ ...times, type, timeZone: form.timeZone.trim() || undefined })
    }
  }
}

/** Returns the fields of a column that have no usable value. The service checks the values themselves. */
export function openFieldsOf(form: ColumnForm): readonly OpenField[] {
  const numbers = (...fields: readonly ('lower' | 'upper' | 'step')[]) =>
    fields
      .filter((field) => numberOf(form[field]) === undefined)
      .map((field) => ({ field, rule: 'must be a number' }))
  const texts = (rule: string, ...fields: readonly ('lower' | 'upper' | 'timeZone')[]) =>
    fields.filter((field) => form[field].trim() === '').map((field) => ({ field, rule }))
  switch (form.type) {
    case 'integer':
      return numbers('lower', 'upper', ...(form.step.trim() === '' ? [] : (['step'] as const)))
    case 'number':
      return numbers('lower', 'upper', 'step')
    case 'date':
      return texts('must be a date or time', 'lower', 'upper')
    case 'timestamp':
      return [
        ...texts('must be a date or time', 'lower', 'upper'),
        ...texts('must be a time zone', 'timeZone'),
        ...numbers('step'),
      ]
    case 'category':
      return categoriesOf(form).length === 0 ? [{ field: 'categories', rule: 'must have a category' }] : []
    case 'boolean':
    case 'string':
    case 'identifier':
      return []
  }
}

/** Says in a few words what is declared of a column beside its type. A question mark stands for what is open. */
export function summaryOf(form: ColumnForm): string {
  const range = `${form.lower || '?'} to ${form.upper || '?'} ${form.unit.trim()}`.trim()
  const parts = [rangeTexts(form, range), form.nullable ? 'may be missing' : '']
  return parts.filter((part) => part !== '').join('; ')
}

function rangeTexts(form: ColumnForm, range: string): string {
  switch (form.type) {
    case 'integer':
    case 'date':
    case 'timestamp':
      return range
    case 'number':
      return `${range}, in steps of ${form.step || '?'}`
    case 'category':
      return categoriesOf(form).join(', ') || '?'
    case 'string':
      return form.selectable ? 'frequent values may be released' : ''
    case 'boolean':
    case 'identifier':
      return ''
  }
}

/** Returns columns of which the one at a position has changed. */
export function withColumn(
  columns: readonly ColumnForm[] | undefined,
  position: number,
  changes: Partial<ColumnForm>,
): readonly ColumnForm[] | undefined {
  return columns?.map((column) => (column.position === position ? { ...column, ...changes } : column))
}

/** Returns the categories of a column: its lines without empty ones. */
export function categoriesOf({ categories }: Pick<ColumnForm, 'categories'>): string[] {
  return categories.split('\n').filter((line) => line.trim() !== '')
}

function invalidRuleOf(
  form: ColumnForm,
): 'null' | 'refuse' | { replaceWith: number | boolean | string } | undefined {
  const { onInvalidValue: rule } = form
  if (rule === 'replaceWith') return { replaceWith: replacementOf(form) }
  return rule === 'null' || rule === 'refuse' ? rule : undefined
}

function replacementOf({ type, replaceWith }: ColumnForm): number | boolean | string {
  switch (type) {
    case 'integer':
    case 'number':
      return numberOf(replaceWith) ?? replaceWith
    case 'boolean':
      return replaceWith.trim() === 'true'
    default:
      return replaceWith
  }
}

function selectableOf({ maxValues, maxLength }: ColumnForm) {
  return {
    maxValues: numberOf(maxValues) ?? DEFAULT_SELECTABLE.maxValues,
    maxLength: numberOf(maxLength) ?? DEFAULT_SELECTABLE.maxLength,
  }
}

/** Limits of a selectable column that declares none. */
export const DEFAULT_SELECTABLE = { maxValues: 100_000, maxLength: 200 } as const

function ruleOf(declared: unknown): InvalidRule {
  if (isRecord(declared)) return 'replaceWith'
  return declared === 'null' || declared === 'refuse' || declared === 'dropRow' ? declared : 'default'
}

function textOf(value: unknown): string {
  return value === undefined || value === null || value === OPEN_QUESTION ? '' : String(value)
}
