import type { components } from 'sotto-client'
import { numberOf } from '../../format/number.ts'

export type DeclaredColumn = NonNullable<components['schemas']['Registration']['columns']>[number]

export const COLUMN_TYPES = [
  'integer',
  'number',
  'date',
  'timestamp',
  'boolean',
  'category',
  'string',
  'identifier',
] as const
export type ColumnType = (typeof COLUMN_TYPES)[number]

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
  readonly type: ColumnType
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
    type: COLUMN_TYPES.find((each) => each === type) ?? 'string',
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
  const { name, type } = form
  const facts = {
    name,
    ...given('description', form.description.trim()),
    ...(form.nullable ? { nullable: true } : {}),
  }
  if (type === 'identifier')
    return {
      ...facts,
      type,
      ...(form.onInvalidValue === 'dropRow' || form.onInvalidValue === 'refuse'
        ? { onInvalidValue: form.onInvalidValue }
        : {}),
    }
  const shared = {
    ...facts,
    ...(form.constantPerPerson ? { constantPerPerson: true } : {}),
    ...invalidRuleOf(form),
  }
  switch (type) {
    case 'boolean':
      return { ...shared, type }
    case 'string':
      return { ...shared, type, ...selectableOf(form) }
    case 'category':
      return { ...shared, type, categories: categoriesOf(form) }
    case 'integer':
    case 'number':
      return {
        ...shared,
        type,
        ...given('unit', form.unit.trim()),
        lower: numberOf(form.lower) ?? Number.NaN,
        upper: numberOf(form.upper) ?? Number.NaN,
        step: numberOf(form.step) ?? (type === 'integer' ? 1 : Number.NaN),
        ...rankableOf(form),
      }
    case 'date':
    case 'timestamp': {
      const step = numberOf(form.step)
      const times = {
        ...shared,
        lower: form.lower.trim(),
        upper: form.upper.trim(),
        ...(step === undefined ? {} : { step }),
        dateFormat: form.dateFormat,
        ...rankableOf(form),
      }
      return type === 'date'
        ? { ...times, type }
        : { ...times, type, ...given('timeZone', form.timeZone.trim()) }
    }
  }
}

/** Returns the fields of a column that have no usable value. The service checks the values themselves. */
export function openFieldsOf(form: ColumnForm): readonly OpenField[] {
  const open: OpenField[] = []
  const requireNumber = (field: 'lower' | 'upper' | 'step') => {
    if (numberOf(form[field]) === undefined) open.push({ field, rule: 'must be a number' })
  }
  const requireText = (field: 'lower' | 'upper' | 'timeZone', rule: string) => {
    if (form[field].trim() === '') open.push({ field, rule })
  }
  switch (form.type) {
    case 'integer':
    case 'number':
      requireNumber('lower')
      requireNumber('upper')
      if (form.type === 'number' || form.step.trim() !== '') requireNumber('step')
      break
    case 'date':
    case 'timestamp':
      requireText('lower', 'must be a date or time')
      requireText('upper', 'must be a date or time')
      if (form.type === 'timestamp') {
        requireText('timeZone', 'must be a time zone')
        requireNumber('step')
      }
      break
    case 'category':
      if (categoriesOf(form).length === 0) open.push({ field: 'categories', rule: 'must have a category' })
      break
    case 'boolean':
    case 'string':
    case 'identifier':
      break
  }
  return open
}

/** Returns the categories of a column: its lines without empty ones. */
export function categoriesOf({ categories }: Pick<ColumnForm, 'categories'>): string[] {
  return categories.split('\n').filter((line) => line.trim() !== '')
}

function invalidRuleOf(form: ColumnForm): {
  onInvalidValue?: 'null' | 'refuse' | { replaceWith: number | boolean | string }
} {
  switch (form.onInvalidValue) {
    case 'default':
    case 'dropRow':
      return {}
    case 'null':
    case 'refuse':
      return { onInvalidValue: form.onInvalidValue }
    case 'replaceWith':
      return { onInvalidValue: { replaceWith: replacementOf(form) } }
  }
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

function rankableOf({ rankable }: ColumnForm): { rankable?: { maxValues: number } } {
  const maxValues = numberOf(rankable)
  return maxValues === undefined ? {} : { rankable: { maxValues } }
}

function selectableOf(form: ColumnForm): { selectable?: { maxValues: number; maxLength: number } } {
  if (!form.selectable) return {}
  return {
    selectable: {
      maxValues: numberOf(form.maxValues) ?? DEFAULT_SELECTABLE.maxValues,
      maxLength: numberOf(form.maxLength) ?? DEFAULT_SELECTABLE.maxLength,
    },
  }
}

/** Limits of a selectable column that declares none. */
export const DEFAULT_SELECTABLE = { maxValues: 100_000, maxLength: 200 } as const

function ruleOf(declared: unknown): InvalidRule {
  if (isRecord(declared)) return 'replaceWith'
  return declared === 'null' || declared === 'refuse' || declared === 'dropRow' ? declared : 'default'
}

function given<Name extends string>(name: Name, text: string): { [each in Name]?: string } {
  return text === '' ? {} : ({ [name]: text } as { [each in Name]: string })
}

function textOf(value: unknown): string {
  return value === undefined || value === null || value === OPEN_QUESTION ? '' : String(value)
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
