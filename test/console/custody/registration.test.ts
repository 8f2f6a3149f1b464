import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { joinedDraft, tableNameOf } from '../../../clients/typescript/src/joined-draft.ts'
import { joinedTables, keyOfPeople } from '../../../console/src/components/charts/joined-tables.ts'
import { epsilonForRisk } from '../../../console/src/pages/register/budget/budget-risk.ts'
import {
  declaredColumn,
  formOfColumn,
  openFieldsOf,
  summaryOf,
} from '../../../console/src/pages/register/columns/column-form.ts'
import {
  type DeclaredBefore,
  formLikeDataset,
  formOfDraft,
  formOfMadeUpPeople,
  labelOf,
  openFields,
  type RegistrationForm,
  registrationOf,
  remarksOn,
  stepOf,
  stepsOf,
  withJoin,
} from '../../../console/src/pages/register/declaration.ts'
import { misfitRows } from '../../../console/src/pages/register/misfits.ts'
import { describeSource } from '../../../console/src/pages/register/step.ts'
import { riskOfPrice } from '../../../console/src/pages/risk/one-of-many/one-of-many.ts'
import { registration } from '../../../schemas/datasets/dataset.ts'
import { draftDeclaration } from '../../../src/datasets/registration/drafts/draft.ts'

/** Draft of a small source, as the service proposes it. */
const DRAFT = draftDeclaration(
  {
    source: { kind: 'upload', upload: '0123456789abcdef0123456789abcdef', format: 'csv' },
    name: 'visits.csv',
    notes: [],
    columns: [
      { name: 'patient_id', type: { kind: 'text' } },
      { name: 'visited', type: { kind: 'date', dateFormat: 'DD.MM.YYYY' } },
      { name: 'arrived', type: { kind: 'timestamp' } },
      {
        name: 'region',
        type: { kind: 'text' },
        sampled: { rows: 9, nulls: 0, distinct: 2, longest: 5, values: ['a', 'b'] },
      },
      { name: 'cost', type: { kind: 'number' } },
      { name: 'age', type: { kind: 'integer' } },
      { name: 'emergency', type: { kind: 'boolean' } },
      { name: 'note', type: { kind: 'text' } },
    ],
  },
  false,
)

function draftedForm(): RegistrationForm {
  return formOfDraft(DRAFT)
}

/** Returns the form of the draft with all of its questions answered. */
function answeredForm(): RegistrationForm {
  const form = draftedForm()
  const answers: Readonly<Record<string, object>> = {
    visited: { lower: '2023-01-01', upper: '2023-12-31' },
    arrived: {
      lower: '2023-01-01T00:00:00Z',
      upper: '2023-12-31T00:00:00Z',
      step: '60',
      timeZone: 'Europe/Berlin',
    },
    region: { categories: 'north\n\nsouth\n' },
    cost: { lower: '0', upper: '500', step: '0.01', unit: ' EUR ' },
    age: { lower: '0', upper: '110' },
  }
  return {
    ...form,
    columns: form.columns?.map((column) => ({ ...column, ...answers[column.name] })),
    unit: 'person',
    maxRows: '20',
    epsilon: '2',
  }
}

describe('The form of a registration', () => {
  test('asks every question of the draft', () => {
    const open = openFields(draftedForm()).map(({ field }) => field)
    const questions = DRAFT.questions.map(({ field }) => field)
    expect(open.toSorted()).toEqual(questions.toSorted())
  })

  test('becomes a registration that the service accepts once all questions are answered', () => {
    const form = answeredForm()
    expect(openFields(form)).toEqual([])
    const declared = registration.parse(registrationOf(form))
    expect(declared.columns?.map(({ name, type }) => [name, type])).toEqual([
      ['patient_id', 'identifier'],
      ['visited', 'date'],
      ['arrived', 'timestamp'],
      ['region', 'category'],
      ['cost', 'number'],
      ['age', 'integer'],
      ['emergency', 'boolean'],
      ['note', 'string'],
    ])
    expect(declared).toMatchObject({
      id: 'visits',
      privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 20 },
      neighbours: 'add-remove',
      budget: { epsilon: 2, delta: 0 },
    })
    expect(declared.columns?.[3]).toMatchObject({ categories: ['north', 'south'], nullable: true })
    expect(declared.columns?.[4]).toMatchObject({ unit: 'EUR', step: 0.01 })
  })

  test('takes over the declaration of a dataset, and keeps its own source and further columns', () => {
    const limits = { queryLimits: { maxEpsilon: 0.5 }, timing: { slotMs: 100 }, failureLimit: 5 }
    const derived = [{ name: 'half', expression: 'cost / 2', unit: 'EUR' }]
    const declared = registration.parse({
      ...{ ...registrationOf(answeredForm()), ...limits },
      ...{ sharing: true, derived },
    })
    const dataset = { ...declared, ...limits, version: '1' } as unknown as DeclaredBefore['dataset']
    const fresh = draftedForm()
    const copied = formLikeDataset(
      { ...fresh, source: { kind: 'file', path: 'new.csv', format: 'csv' } },
      { dataset, granted: { epsilon: 3, delta: 0 } },
    )
    expect(openFields(copied)).toEqual([])
    expect(registration.parse(registrationOf(copied))).toEqual({
      ...declared,
      source: { kind: 'file', path: 'new.csv', format: 'csv' },
      budget: { epsilon: 3, delta: 0 },
    })
    const fewer = { ...dataset, columns: dataset.columns.filter(({ name }) => name !== 'age') }
    const partial = formLikeDataset(fresh, { dataset: fewer, granted: { epsilon: 3, delta: 1e-6 } })
    expect(openFields(partial).map(({ label }) => label)).toEqual(['age: lower', 'age: upper'])
    expect(registrationOf(partial).budget).toEqual({ epsilon: 3, delta: 1e-6 })
  })

  test('says of each column in a row what is declared and what is open', () => {
    const summaries = (form: RegistrationForm) =>
      Object.fromEntries(form.columns?.map((column) => [column.name, summaryOf(column)]) ?? [])
    const drafted = summaries(draftedForm())
    expect(drafted.visited).toMatch(/^\? to \?/)
    const answered = summaries(answeredForm())
    expect(answered.visited).toMatch(/^2023-01-01 to 2023-12-31/)
    expect(answered.region).toBe('north, south; may be missing')
    expect(answered.cost).toBe('0 to 500 EUR, in steps of 0.01; may be missing')
  })

  test('names the file of an upload', () => {
    const source = { kind: 'upload', upload: '0'.repeat(32), format: 'csv' } as const
    expect(describeSource({ source, fileName: 'visits.csv' })).toBe('visits.csv')
    expect(formOfDraft(DRAFT, 'visits.csv').fileName).toBe('visits.csv')
  })

  test('leaves out columns that are not declared, and their questions', () => {
    const form = draftedForm()
    const columns = form.columns?.map((column) => ({ ...column, included: column.name === 'note' }))
    expect(openFields({ ...form, columns, unit: 'row', epsilon: '1' })).toEqual([])
    expect(registrationOf({ ...form, columns }).columns).toEqual([
      { name: 'note', type: 'string', nullable: true },
    ])
  })

  test('requires a declared identifier for people, a budget, and a delta for zCDP', () => {
    const form = answeredForm()
    const fieldsOf = (changes: Partial<RegistrationForm>) =>
      openFields({ ...form, ...changes }).map(({ field }) => field)
    const columns = form.columns?.map((column) => ({ ...column, included: column.type !== 'identifier' }))
    expect(fieldsOf({ columns })).toEqual(['privacyUnit.column'])
    expect(fieldsOf({ maxRows: '2.5' })).toEqual(['privacyUnit.maxRows'])
    expect(fieldsOf({ epsilon: '0' })).toEqual(['budget.epsilon'])
    expect(fieldsOf({ accounting: 'zcdp' })).toEqual(['budget.delta'])
    expect(fieldsOf({ accounting: 'zcdp', delta: '1e-6' })).toEqual([])
  })

  test('declares limits and release times only if they were entered', () => {
    const plain = registrationOf(answeredForm())
    expect(plain).not.toHaveProperty('timing')
    expect(plain).not.toHaveProperty('queryLimits')
    const limited = registrationOf({
      ...answeredForm(),
      timing: 'deadline',
      timingMs: '2000',
      maxEpsilon: '0.5',
      failureLimit: '7',
    })
    expect(limited).toMatchObject({
      timing: { deadlineMs: 2000 },
      queryLimits: { maxEpsilon: 0.5 },
      failureLimit: 7,
    })
    expect(() => registration.parse(limited)).not.toThrow()
  })

  test.each([
    { kind: 'population', rows: 10, seed: 's' },
    { kind: 'visits', people: 5, rows: 10, seed: 's' },
  ] as const)('of made-up people is complete but for the budget: $kind', (source) => {
    const form = formOfMadeUpPeople(source)
    expect(openFields(form).map(({ field }) => field)).toEqual(['budget.epsilon'])
    expect(() => registration.parse(registrationOf({ ...form, epsilon: '1' }))).not.toThrow()
  })
})

test.each([
  { name: 'a', type: 'integer', lower: 0, upper: 9, step: 1, nullable: true, rankable: { maxValues: 5 } },
  {
    name: 'a',
    type: 'number',
    lower: 0,
    upper: 1,
    step: 0.5,
    unit: 'm',
    onInvalidValue: { replaceWith: 0.5 },
  },
  { name: 'a', type: 'date', lower: '2020-01-01', upper: '2021-01-01', step: 1, dateFormat: 'YYYYMMDD' },
  {
    name: 'a',
    type: 'timestamp',
    lower: '2020-01-01',
    upper: '2021-01-01',
    step: 60,
    dateFormat: 'YYYY-MM-DD',
    timeZone: 'UTC',
  },
  { name: 'a', type: 'boolean', constantPerPerson: true, onInvalidValue: { replaceWith: false } },
  { name: 'a', type: 'category', categories: ['x', 'y z'], description: 'Kind', onInvalidValue: 'refuse' },
  { name: 'a', type: 'string', selectable: { maxValues: 10, maxLength: 5 } },
  { name: 'a', type: 'identifier', onInvalidValue: 'dropRow' },
])('A declared column is the same after it was shown in the form: $type', (declared) => {
  const form = formOfColumn(declared, 0)
  expect(openFieldsOf(form)).toEqual([])
  expect(declaredColumn(form)).toEqual(declared)
})

test('Refused fields lead to their step and have a name for people', () => {
  expect(['columns.1.lower', 'privacyUnit.column', 'budget.delta', 'source.path'].map(stepOf)).toEqual([
    'columns',
    'people',
    'budget',
    'source',
  ])
  const declared = registrationOf(answeredForm())
  expect(labelOf('columns.1.lower', declared)).toBe('visited: lower')
  expect(labelOf('budget.epsilon', declared)).toBe('budget.epsilon')
})

test('Remarks of the draft belong to one column: that with position 1 has none of position 10', () => {
  const remarks = ['columns.1', 'columns.10.lower', 'columns.1.upper'].map((field) => ({
    field,
    text: field,
  }))
  expect(remarksOn(remarks, { position: 1 }).map(({ field }) => field)).toEqual([
    'columns.1',
    'columns.1.upper',
  ])
})

describe('The risk of a budget', () => {
  const terms = fc.record({
    epsilon: fc.double({ min: 0.001, max: 20, noNaN: true }).map((epsilon) => Number(epsilon.toFixed(6))),
    delta: fc.constantFrom(0, 1e-9, 1e-6, 0.01),
    neighbours: fc.constantFrom('add-remove' as const, 'change-one' as const),
    candidates: fc.integer({ min: 2, max: 1_000_000 }),
  })

  test('is not exceeded by the epsilon that is chosen for it, and nearly reached', () => {
    fc.assert(
      fc.property(
        terms,
        fc.double({ min: 0.01, max: 0.999, noNaN: true }),
        ({ epsilon: _, ...rest }, risk) => {
          const chosen = epsilonForRisk(risk, rest)
          if (chosen === undefined) {
            expect(riskOfPrice(0.01, rest)).toBeGreaterThan(risk)
            return
          }
          expect(riskOfPrice(chosen, rest)).toBeLessThanOrEqual(risk)
          if (chosen < 20) expect(riskOfPrice(1.11 * chosen, rest)).toBeGreaterThan(risk)
        },
      ),
    )
  })
})

test('Values that did not fit are listed by column and rule, with their first places', () => {
  const rows = misfitRows({
    invalidValues: [
      { column: 'fits', values: 0, misfits: [] },
      {
        column: 'age',
        values: 9,
        misfits: [
          { rule: 'missing', values: 1, unit: 'line', first: [4] },
          { rule: 'not-a-number', values: 8, unit: 'record', first: [1, 2, 3, 4, 5] },
        ],
      },
      { column: 'table', values: 1, misfits: [{ rule: 'not-a-date', values: 1 }] },
    ],
  })
  expect(rows).toEqual([
    { column: 'age', rule: 'is missing', values: 1, places: 'line 4' },
    { column: 'age', rule: 'is not a number', values: 8, places: 'records 1, 2, 3, 4, 5, …' },
    { column: 'table', rule: 'is not a date', values: 1, places: '' },
  ])
})

test('derived columns are declared with a name and an expression', () => {
  const begun: RegistrationForm = { ...draftedForm(), derived: [{ name: 'half', expression: '' }] }
  expect(openFields(begun)).toContainEqual({
    step: 'columns',
    field: 'derived.0.expression',
    label: 'half: expression',
    rule: 'must not be empty',
  })
  const form = { ...begun, derived: [{ name: 'half', expression: 'age / 2' }] }
  expect(registrationOf(form).derived).toEqual([{ name: 'half', expression: 'age / 2' }])
  expect(registrationOf(draftedForm())).not.toHaveProperty('derived')
  expect(stepOf('derived.0.expression')).toBe('columns')
  expect(labelOf('derived.0.expression', registrationOf(form))).toBe('half: expression')
})

describe('joined files', () => {
  const draftOfFile = (name: string, ...columns: readonly string[]) => {
    const upload = name.padEnd(32, '0').replaceAll(/[^0-9a-f]/g, '0')
    const typed = columns.map((column) => ({ name: column, type: { kind: 'boolean' } }) as const)
    const source = {
      source: { kind: 'upload', upload, format: 'csv' } as const,
      name,
      notes: [],
      columns: typed,
    }
    return { fileName: name, draft: draftDeclaration(source, false) }
  }
  const drafted = () =>
    formOfDraft(
      joinedDraft(
        [
          draftOfFile('visits.csv', 'patient', 'hospital', 'urgent'),
          draftOfFile('patients.csv.gz', 'number', 'insured'),
          draftOfFile('hospitals.csv', 'code', 'large'),
        ],
        '',
      ),
    )
  const owner = { from: 'visits.patient', to: 'patients.number', public: false }
  const lookup = { from: 'visits.hospital', to: 'hospitals.code', public: true }

  test('become one declaration, once every other table is joined', () => {
    const form = drafted()
    expect(stepsOf(form)).toContain('joins')
    expect(stepsOf(draftedForm())).not.toContain('joins')
    expect(openFields(form).flatMap(({ step, field }) => (step === 'joins' ? [field] : []))).toEqual([
      'source.joins.0',
      'source.joins.1',
    ])
    const once = { ...form, ...withJoin(form, 0, owner) }
    const joined = { ...once, ...withJoin(once, 1, lookup), maxRows: '5', epsilon: '1' }
    expect(openFields(joined)).toEqual([])
    const sent = registration.parse(registrationOf(joined))
    expect(sent.source).toMatchObject({ kind: 'joined', joins: [owner, lookup] })
    expect(sent.privacyUnit).toMatchObject({ kind: 'person', column: 'patients.number' })
    expect(sent.columns?.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'visits.urgent boolean',
      'patients.number identifier',
      'patients.insured boolean',
      'hospitals.code boolean',
      'hospitals.large boolean',
    ])
  })

  test('may be two facts of the same people, with a bound for either', () => {
    const fill = (form: RegistrationForm, position: number, join: Parameters<typeof withJoin>[2]) => ({
      ...form,
      ...withJoin(form, position, join),
    })
    const facts = { from: 'patients.number', to: 'hospitals.code' }
    const begun = fill(fill(drafted(), 1, { ...facts, maxRows: {} }), 0, owner)
    expect(openFields(begun)).toContainEqual(expect.objectContaining({ field: 'source.joins.1.maxRows' }))
    const bounded = fill(begun, 1, { ...facts, maxRows: { visits: 20, hospitals: 10 } })
    // The bounds stay with their sides when another table is chosen.
    const other = fill(bounded, 1, {
      from: facts.from,
      to: 'patients.insured',
      maxRows: { visits: 20, hospitals: 10 },
    })
    expect(other.source).toMatchObject({ joins: [owner, { maxRows: { visits: 20, patients: 10 } }] })
    const complete = { ...bounded, maxRows: '50', epsilon: '1' }
    expect(openFields(complete)).toEqual([])
    const sent = registration.parse(registrationOf(complete))
    expect(sent.source).toMatchObject({
      joins: [owner, { ...facts, maxRows: { visits: 20, hospitals: 10 } }],
    })
    expect(sent.privacyUnit).toMatchObject({ column: 'patients.number' })
    expect(sent.columns?.map(({ name }) => name)).toEqual([
      'visits.hospital',
      'visits.urgent',
      'patients.number',
      'patients.insured',
      'hospitals.large',
    ])
  })

  test('are shown as a tree, whatever was entered so far', () => {
    const { source } = drafted()
    if (source.kind !== 'joined') return expect.unreachable()
    const shown = (joins: typeof source.joins) =>
      JSON.stringify(joinedTables({ ...source, joins }), ['name', 'role', 'refersTo'])
    expect(shown([owner, lookup])).toBe(
      '[{"name":"visits","role":"rows","refersTo":[{"name":"patients","role":"people","refersTo":[]},' +
        '{"name":"hospitals","role":"public","refersTo":[]}]}]',
    )
    const facts = { from: 'patients.number', to: 'hospitals.code', maxRows: { visits: 9, hospitals: 4 } }
    expect(shown([owner, facts])).toBe(
      '[{"name":"visits","role":"rows","refersTo":[{"name":"patients","role":"people","refersTo":[' +
        '{"name":"hospitals","role":"facts","refersTo":[]}]}]}]',
    )
    expect(keyOfPeople({ joins: [{ ...facts, from: 'visits.patient' }] })).toBe('visits.patient')
    expect(joinedTables(source).map(({ name }) => name)).toEqual(['visits', 'patients', 'hospitals'])
    const circle = { from: 'patients.number', to: 'hospitals.code', public: false }
    expect(shown([owner, circle, { ...circle, from: 'hospitals.code', to: 'patients.number' }])).toContain(
      'visits',
    )
  })

  test('have tables with the names of their files', () => {
    const names = ['patients-2024.csv.gz', '2024 visits.parquet', 'Größe.csv', `${'x'.repeat(40)}.csv`]
    expect(names.map(tableNameOf)).toEqual(['patients_2024', 'table_2024_visits', 'Gr_e', 'x'.repeat(30)])
  })
})
