import { defined } from '../../../../src/privacy/defined.ts'
import type { Schemas } from '../../api/schemas.ts'
import {
  type DeclaredJoin,
  endOf,
  type JoinedSource,
  joinedTables,
  keyOfPeople,
} from '../../components/charts/joined-tables.ts'
import { isRecord } from '../../format/json.ts'
import { isWhole, numberOf } from '../../format/number.ts'
import { type ColumnForm, declaredColumn, formOfColumn, openFieldsOf } from './columns/column-form.ts'

export type Registration = Schemas['Registration']
export type Source = Registration['source']
export type Draft = Schemas['Draft']
export type Remark = Draft['questions'][number]
export type DerivedColumn = Schemas['DerivedColumn']

/** Steps of a registration, by the last part of their address. */
export const STEPS = ['source', 'joins', 'columns', 'people', 'budget', 'check'] as const
export type Step = (typeof STEPS)[number]

/** Returns the steps of a registration. Only tables are joined. */
export function stepsOf(form: RegistrationForm | undefined): readonly Step[] {
  return form?.source.kind === 'joined' ? STEPS : STEPS.filter((step) => step !== 'joins')
}

/** Everything that a person decides about a registration, as it was entered. */
export interface RegistrationForm {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly source: Source
  /** Name of an uploaded file; empty for other sources. */
  readonly fileName: string
  /** Undefined for made-up people with all of their columns. */
  readonly columns: readonly ColumnForm[] | undefined
  /** Columns that are computed from others, as they are declared. */
  readonly derived: readonly DerivedColumn[]
  readonly unit: 'open' | 'row' | 'person'
  readonly personColumn: string
  readonly maxRows: string
  readonly plausibleRows: string
  /** Epsilon that measures what `maxRows` leaves out. */
  readonly leftOut: string
  readonly neighbours: Registration['neighbours']
  readonly epsilon: string
  readonly delta: string
  readonly accounting: 'basic' | 'zcdp'
  readonly sharing: boolean
  /** Empty for none. */
  readonly population: string
  readonly timing: 'default' | 'slot' | 'deadline' | 'off'
  /** Length of a slot or deadline in milliseconds. */
  readonly timingMs: string
  readonly failureLimit: string
  readonly minEpsilon: string
  readonly maxEpsilon: string
  readonly minHalfWidth: string
  readonly separateBudget: string
  /** Remarks of the draft, by the field that they are about. */
  readonly questions: readonly Remark[]
  readonly notes: readonly Remark[]
}

const UNDECIDED = {
  fileName: '',
  description: '',
  derived: [],
  unit: 'open',
  personColumn: '',
  maxRows: '',
  plausibleRows: '',
  leftOut: '',
  neighbours: 'add-remove',
  epsilon: '',
  delta: '',
  accounting: 'basic',
  sharing: false,
  population: '',
  timing: 'default',
  timingMs: '',
  failureLimit: '',
  minEpsilon: '',
  maxEpsilon: '',
  minHalfWidth: '',
  separateBudget: '',
} as const

/** Parts of a draft that the form shows. */
export interface DraftParts {
  readonly declaration: Readonly<Record<string, unknown>>
  readonly questions: readonly Remark[]
  readonly notes: readonly Remark[]
}

/** Returns the form that a draft fills in, with the name of the file if it was uploaded. */
export function formOfDraft({ declaration, questions, notes }: DraftParts, fileName = ''): RegistrationForm {
  const { id, title, source, columns } = declaration
  const forms = Array.isArray(columns)
    ? columns.filter(isRecord).map((column, position) => formOfColumn(column, position))
    : []
  return {
    ...UNDECIDED,
    id: String(id),
    title: String(title),
    source: source as Source,
    fileName,
    columns: forms,
    personColumn: forms.find(({ type }) => type === 'identifier')?.name ?? '',
    questions,
    notes,
  }
}

/** Returns the form of made-up people, which need neither a draft nor columns. */
export function formOfMadeUpPeople(
  source: Extract<Source, { kind: 'population' | 'visits' }>,
): RegistrationForm {
  const isVisits = source.kind === 'visits'
  return {
    ...UNDECIDED,
    id: isVisits ? 'made-up-visits' : 'made-up-people',
    title: isVisits ? 'Visits of made-up patients' : 'Made-up people',
    source,
    columns: undefined,
    unit: isVisits ? 'person' : 'row',
    personColumn: isVisits ? 'patient_id' : '',
    maxRows: isVisits ? '20' : '',
    questions: [],
    notes: [],
  }
}

/** Public facts of a dataset, and the amount that was granted to its budget. */
export interface DeclaredBefore {
  readonly dataset: Schemas['Dataset']
  readonly granted: { readonly epsilon: number; readonly delta: number }
}

/**
 * Returns a form with the declaration of a dataset in place of its own: the id, the texts, the columns of the same names,
 * the people, the budget and the limits. The source, and columns that the dataset does not have, stay.
 */
export function formLikeDataset(
  form: RegistrationForm,
  { dataset, granted }: DeclaredBefore,
): RegistrationForm {
  const { privacyUnit, queryLimits, timing, columns } = dataset
  const limitOf = (name: keyof typeof queryLimits) => String(queryLimits[name] ?? '')
  return {
    ...form,
    id: dataset.id,
    title: dataset.title,
    description: dataset.description ?? '',
    columns: form.columns?.map((column) => {
      const declared = columns.find(({ name }) => name === column.name)
      return declared === undefined ? column : formOfColumn({ ...declared }, column.position)
    }),
    derived: (dataset.derived ?? []).map(({ name, expression, description, unit }) =>
      defined({ name, expression, description, unit }),
    ),
    unit: privacyUnit.kind,
    personColumn: privacyUnit.kind === 'person' ? privacyUnit.column : '',
    maxRows: privacyUnit.kind === 'person' ? String(privacyUnit.maxRows) : '',
    plausibleRows: privacyUnit.kind === 'person' ? String(privacyUnit.plausibleRows ?? '') : '',
    leftOut: String(dataset.leftOut?.epsilon ?? ''),
    neighbours: dataset.neighbours,
    epsilon: String(granted.epsilon),
    delta: granted.delta === 0 ? '' : String(granted.delta),
    accounting: dataset.accounting,
    sharing: dataset.sharing,
    failureLimit: String(dataset.failureLimit),
    minEpsilon: limitOf('minEpsilon'),
    maxEpsilon: limitOf('maxEpsilon'),
    minHalfWidth: limitOf('minHalfWidth'),
    ...timingFieldsOf(timing),
  }
}

function timingFieldsOf(
  timing: DeclaredBefore['dataset']['timing'],
): Pick<RegistrationForm, 'timing' | 'timingMs'> {
  if (timing === 'off') return { timing, timingMs: '' }
  return 'slotMs' in timing
    ? { timing: 'slot', timingMs: String(timing.slotMs) }
    : { timing: 'deadline', timingMs: String(timing.deadlineMs) }
}

/** Returns the names of the two tables that a join of two facts combines: that of the rows, and the other. */
export function factTables(
  source: JoinedSource,
  { to }: DeclaredJoin,
): readonly [rows: string, other: string] {
  return [joinedTables(source)[0]?.name ?? '', endOf(to).table]
}

/** Names the bounds of two facts after their tables, in the order of {@link factTables}. */
function withFactTables(source: JoinedSource, join: DeclaredJoin): DeclaredJoin {
  if (join.maxRows === undefined) return join
  const [rows = 0, other = 0] = Object.values(join.maxRows)
  const [rowsTable, otherTable] = factTables(source, join)
  return { ...join, maxRows: { [rowsTable]: rows, [otherTable]: other } }
}

/**
 * Changes a join. A column that begins to refer is not declared, because its values are keys, and neither is the column that
 * names the person in a second fact; the key of people becomes the identifier of the privacy unit.
 */
export function withJoin(
  form: RegistrationForm,
  position: number,
  changed: DeclaredJoin,
): Partial<RegistrationForm> {
  const { source, columns } = form
  if (source.kind !== 'joined') return {}
  const joins = source.joins.map((join, at) => (at === position ? changed : join))
  const before = source.joins[position]
  const left = [
    ...(changed.from === before?.from ? [] : [changed.from]),
    ...(changed.maxRows === undefined || changed.to === before?.to ? [] : [changed.to]),
  ]
  const key = keyOfPeople({ joins })
  const isNewKey = key !== keyOfPeople(source)
  const next = { ...source, joins }
  return {
    source: { ...next, joins: joins.map((join) => withFactTables(next, join)) },
    ...(key !== undefined && { personColumn: key, unit: 'person' as const }),
    columns: columns?.map((column) => {
      if (column.name === key && isNewKey)
        return { ...column, type: 'identifier', included: true, nullable: false, onInvalidValue: 'default' }
      return column.name !== key && left.includes(column.name) ? { ...column, included: false } : column
    }),
  }
}

/** Returns the registration that a form describes. Send it only if {@link openFields} finds nothing. */
export function registrationOf(form: RegistrationForm): Registration {
  return defined({
    id: form.id.trim(),
    title: form.title.trim(),
    description: form.description.trim() || undefined,
    source: form.source,
    columns: form.columns?.filter(({ included }) => included).map(declaredColumn),
    derived: form.derived.length === 0 ? undefined : [...form.derived],
    privacyUnit:
      form.unit === 'person'
        ? defined({
            kind: 'person' as const,
            column: form.personColumn,
            maxRows: numberOf(form.maxRows) ?? 0,
            plausibleRows: numberOf(form.plausibleRows),
          })
        : { kind: 'row' as const },
    leftOut: leftOutOf(form),
    neighbours: form.neighbours,
    budget: { epsilon: numberOf(form.epsilon) ?? 0, delta: numberOf(form.delta) ?? 0 },
    accounting: form.accounting,
    sharing: form.sharing,
    population: form.population || undefined,
    timing: timingOf(form),
    failureLimit: numberOf(form.failureLimit),
    queryLimits: queryLimitsOf(form),
    separateBudget: form.separateBudget.trim() || undefined,
  })
}

function leftOutOf({ unit, leftOut }: RegistrationForm): Registration['leftOut'] {
  const epsilon = numberOf(leftOut)
  return unit === 'row' || epsilon === undefined ? undefined : { epsilon }
}

function timingOf({ timing, timingMs }: RegistrationForm): Registration['timing'] {
  switch (timing) {
    case 'default':
      return undefined
    case 'off':
      return 'off'
    case 'slot':
      return { slotMs: numberOf(timingMs) ?? 50 }
    case 'deadline':
      return { deadlineMs: numberOf(timingMs) ?? 1_000 }
  }
}

function queryLimitsOf({ minEpsilon, maxEpsilon, minHalfWidth }: RegistrationForm) {
  const limits = defined({
    minEpsilon: numberOf(minEpsilon),
    maxEpsilon: numberOf(maxEpsilon),
    minHalfWidth: numberOf(minHalfWidth),
  })
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** A field without a usable value: where it is entered, its path in the declaration, and its rule. */
export interface OpenRegistrationField {
  readonly step: Step
  readonly field: string
  /** Name for people, such as `age: lower`. */
  readonly label: string
  readonly rule: string
}

/** Returns the fields that a person still has to decide. The service checks the values themselves. */
export function openFields(form: RegistrationForm): readonly OpenRegistrationField[] {
  const open: OpenRegistrationField[] = []
  const add = (step: Step, field: string, label: string, rule: string) =>
    open.push({ step, field, label, rule })
  const joins = form.source.kind === 'joined' ? form.source.joins : []
  joins.forEach(({ from, to, maxRows = {} }, index) => {
    if (from === '' || to === '')
      add('joins', `source.joins.${index}`, `Join ${index + 1}`, 'must name a column and a key')
    else if (!Object.values(maxRows).every((rows) => isWhole(rows, 1)))
      add('joins', `source.joins.${index}.maxRows`, `Join ${index + 1}`, 'must have whole numbers of rows')
  })
  if (form.id.trim() === '') add('columns', 'id', 'Id', 'must not be empty')
  if (form.title.trim() === '') add('columns', 'title', 'Title', 'must not be empty')
  const included = form.columns?.filter((column) => column.included)
  if (included?.length === 0) add('columns', 'columns', 'Columns', 'must have one column at least')
  included?.forEach((column, index) => {
    for (const { field, rule } of openFieldsOf(column))
      add('columns', `columns.${index}.${field}`, `${column.name}: ${field}`, rule)
  })
  form.derived.forEach(({ name, expression }, index) => {
    const label = name || `Derived column ${index + 1}`
    if (name === '') add('columns', `derived.${index}.name`, `${label}: name`, 'must not be empty')
    if (expression === '')
      add('columns', `derived.${index}.expression`, `${label}: expression`, 'must not be empty')
  })
  if (form.unit === 'open') add('people', 'privacyUnit', 'Privacy unit', 'must be chosen')
  if (form.unit === 'person') {
    if (!hasIdentifier(form)) add('people', 'privacyUnit.column', 'Column of people', 'must be chosen')
    if (!isWhole(numberOf(form.maxRows), 1))
      add('people', 'privacyUnit.maxRows', 'Rows per person', 'must be a whole number')
  }
  const epsilon = numberOf(form.epsilon)
  if (epsilon === undefined || epsilon <= 0)
    add('budget', 'budget.epsilon', 'Epsilon', 'must be greater than 0')
  if (form.accounting === 'zcdp' && !((numberOf(form.delta) ?? 0) > 0))
    add('budget', 'budget.delta', 'Delta', 'must be greater than 0 for zCDP')
  return open
}

function hasIdentifier({ columns, personColumn }: RegistrationForm): boolean {
  return (
    columns === undefined ||
    columns.some(({ included, type, name }) => included && type === 'identifier' && name === personColumn)
  )
}

/** Returns the step in which a field of the declaration is entered. */
export function stepOf(field: string): Step {
  const [first = '', second] = field.split('.')
  switch (first) {
    case 'source':
      return second === 'joins' ? 'joins' : 'source'
    case 'id':
    case 'title':
    case 'description':
    case 'columns':
    case 'derived':
      return 'columns'
    case 'privacyUnit':
    case 'leftOut':
    case 'neighbours':
      return 'people'
    case 'separateBudget':
      return 'check'
    default:
      return 'budget'
  }
}

/** Returns a field's name for people: `columns.2.lower` is that of the third column of the registration. */
export function labelOf(
  field: string,
  { columns = [], derived = [] }: Pick<Registration, 'columns' | 'derived'>,
): string {
  const [, list, index, member] = /^(columns|derived)\.(\d+)(?:\.(.*))?$/.exec(field) ?? []
  const column = (list === 'derived' ? derived : columns)[Number(index)]
  if (column === undefined) return field
  return member === undefined ? column.name : `${column.name}: ${member}`
}

/** Returns the remarks about one column of a draft. */
export function remarksOn(
  remarks: readonly Remark[],
  { position }: Pick<ColumnForm, 'position'>,
): readonly Remark[] {
  const path = `columns.${position}`
  return remarks.filter(({ field }) => field === path || field.startsWith(`${path}.`))
}
