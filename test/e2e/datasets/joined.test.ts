import { expect, test } from 'vitest'
import { testService } from '../service.ts'

const PATIENTS = ['id,region,born', 'p1,north,1950', 'p2,south,1980', 'p3,north,2001', 'p4,south,1999']
const HOSPITALS = ['code,beds', 'h1,100', 'h2,20']
/** p1 has three visits, p2 one, p3 one to an unknown hospital; one visit is nobody's. */
const VISITS = [
  'patient,hospital,cost',
  'p1,h1,10',
  'p1,h2,20',
  'p1,h1,30',
  'p2,h2,40',
  'p3,h9,50',
  'p9,h1,60',
]
/** p1 has three prescriptions, p2 one; p4 has one and no visit; one prescription is nobody's. */
const PRESCRIPTIONS = ['person,dose', 'p1,1', 'p1,2', 'p1,3', 'p2,4', 'p4,5', ',6']
const service = testService(
  {},
  {
    files: Object.fromEntries(
      Object.entries({
        patients: PATIENTS,
        hospitals: HOSPITALS,
        visits: VISITS,
        prescriptions: PRESCRIPTIONS,
        wards: [...HOSPITALS, 'h1,5'],
        'real-patients': [...PATIENTS, 'p5,north,1970'],
        'real-visits': [...VISITS, 'p5,h1,15'],
        'other-patients': [...PATIENTS, 'p6,north,1971'],
        'other-visits': [...VISITS, 'p6,h1,16'],
      }).map(([name, lines]) => [`${name}.csv`, `${lines.join('\n')}\n`]),
    ),
  },
)

const file = (path: string) => ({ kind: 'file', path, format: 'csv' }) as const
const JOINS = [
  { from: 'visits.patient', to: 'patients.id' },
  { from: 'visits.hospital', to: 'hospitals.code', public: true },
]
const clinic = (id: string, changes: object = {}, joins: readonly object[] = JOINS) => ({
  id,
  title: 'Visits to two hospitals',
  synthetic: true,
  source: {
    kind: 'joined',
    tables: {
      visits: file('visits.csv'),
      patients: file('patients.csv'),
      hospitals: file('hospitals.csv'),
    },
    joins,
  },
  columns: [
    { name: 'patients.id', type: 'identifier' },
    { name: 'visits.cost', type: 'integer', lower: 0, upper: 100 },
    { name: 'patients.region', type: 'category', categories: ['north', 'south'] },
    { name: 'patients.born', type: 'integer', lower: 1900, upper: 2020 },
    { name: 'hospitals.beds', type: 'integer', lower: 0, upper: 1000, nullable: true },
  ],
  privacyUnit: { kind: 'person', column: 'patients.id', maxRows: 2 },
  neighbours: 'change-one',
  budget: { epsilon: 100 },
  leftOut: { epsilon: 0 },
  ...changes,
})
const register = (body: object) => service.as('custodian').post('/v1/datasets').send(body)

test('tables are joined once, and their custodian is told what the joins left out', async () => {
  const { body } = await register(clinic('clinic')).expect(201)
  expect(body.ingestion).toMatchObject({
    rowsRead: 6,
    rowsWithoutIdentifier: 0,
    rowsBeyondMaxRows: 1,
    rowsStored: 4,
    // p4 has no visit.
    people: 4,
    joins: [
      { from: 'visits.patient', to: 'patients.id', missing: 0, dangling: 1 },
      { from: 'visits.hospital', to: 'hospitals.code', missing: 0, dangling: 1 },
    ],
  })
  expect(body.people).toBe(4)
  const constant = body.columns.filter((each: { constantPerPerson?: boolean }) => each.constantPerPerson)
  expect(constant.map(({ name }: { name: string }) => name)).toEqual(['patients.region', 'patients.born'])
})

test('a question names columns with their table or, where one column has the name, without', async () => {
  await register(clinic('named')).expect(201)
  const question = (column: string, where: string) => ({
    kind: 'sum',
    column,
    where: { column: where, op: 'in', values: ['north'] },
    epsilon: 1,
  })
  const { body: full } = await service.ask('named', question('visits.cost', 'patients.region')).expect(200)
  const { body: short } = await service.ask('named', question('cost', 'region')).expect(200)
  expect(short.id).toBe(full.id)
  expect(short.question).toEqual(full.question)
  const { body } = await service.ask('named', { kind: 'sum', column: 'price', epsilon: 1 }).expect(422)
  expect(body.detail).toContain('it has visits.cost, patients.region,')
})

test('a count without noise worth mentioning is that of the joined rows', async () => {
  await register(clinic('exact')).expect(201)
  const ask = async (question: object) =>
    (await service.ask('exact', { ...question, epsilon: 20 }).expect(200)).body.result.value
  expect(await ask({ kind: 'count' })).toBe(4)
  expect(await ask({ kind: 'count', where: { column: 'beds', op: 'isNull' } })).toBe(1)
  expect(await ask({ kind: 'count', of: 'people', where: { column: 'born', op: '<', value: 1990 } })).toBe(2)
})

test('made-up rows agree where they refer to the same row, and are asked by the same names', async () => {
  const columns = [
    ...clinic('').columns,
    { name: 'visits.hospital', type: 'category', categories: ['h1', 'h2', 'h3'], nullable: true },
    { name: 'hospitals.code', type: 'category', categories: ['h1', 'h2'], nullable: true },
  ]
  const derived = [{ name: 'doubled', expression: 'cost * 2' }]
  await register(clinic('practised', { columns, derived })).expect(201)
  const { body } = await service
    .as('analyst')
    .get('/v1/datasets/practised/dummy?rows=300&seed=s&format=json')
    .expect(200)
  const valuesOf = (key: string, ...names: readonly string[]) =>
    Map.groupBy(body as Record<string, unknown>[], (row) => row[key])
      .values()
      .map((rows) => new Set(rows.map((row) => JSON.stringify(names.map((name) => row[name])))).size)
      .toArray()
  expect(valuesOf('patients.id', 'patients.region', 'patients.born').every((size) => size === 1)).toBe(true)
  const ofHospitals = valuesOf('hospitals.code', 'hospitals.beds')
  expect(ofHospitals).toEqual([1, 1, 1])
  for (const row of body) {
    expect(row['visits.hospital']).toBe(row['hospitals.code'])
    if (row['hospitals.code'] === null) expect(row['hospitals.beds']).toBe(null)
  }

  const asked = { kind: 'sum', column: 'cost', where: { column: 'beds', op: '>', value: 5 }, epsilon: 1 }
  for (const column of ['cost', 'doubled', 'cost + doubled']) {
    const practised = await service
      .as('analyst')
      .post('/v1/datasets/practised/queries?on=dummy')
      .send({ ...asked, column })
    expect(practised.body, column).toMatchObject({ dummy: true })
  }
})

test('a dry run names the broken rule, and nothing is kept', async () => {
  const tried = async (body: object) =>
    (await service.as('custodian').post('/v1/datasets?dryRun=true').send(body)).body
  const twice = clinic('refused')
  const tables = { ...twice.source.tables, hospitals: file('wards.csv') }
  expect(await tried({ ...twice, source: { ...twice.source, tables } })).toMatchObject({
    code: 'source-does-not-fit',
    errors: [
      {
        field: 'source.joins.1.to',
        rule: 'several rows of hospitals have the same code: a join must lead to one row',
      },
    ],
  })
  const strict = [{ ...JOINS[0], dangling: 'refuse' }, JOINS[1] ?? {}]
  expect(await tried(clinic('refused', {}, strict))).toMatchObject({
    code: 'source-does-not-fit',
    errors: [
      { field: 'source.joins.0.from', rule: expect.stringContaining('0 rows have no value, and 1 have') },
    ],
  })
  expect(await tried(clinic('refused', { privacyUnit: { kind: 'row' } }))).toMatchObject({
    code: 'invalid-request',
    errors: expect.arrayContaining([
      {
        field: 'source.joins.0.public',
        rule: 'must be true where each row is another person',
      },
    ]),
  })
  const absent = { ...twice.source.tables, hospitals: file('absent.csv') }
  expect(await tried({ ...twice, source: { ...twice.source, tables: absent } })).toMatchObject({
    code: 'source-refused',
    errors: [{ field: 'source.tables.hospitals.path' }],
  })
  await service.as('custodian').get('/v1/datasets/refused').expect(404)
})

test('a person must not be in one table as two people, and names must differ in more than case', async () => {
  const tried = async (tables: object, joins: readonly object[]) => {
    const { source, ...others } = clinic('refused')
    const body = { ...others, source: { ...source, tables: { ...source.tables, ...tables }, joins } }
    return (await service.as('custodian').post('/v1/datasets?dryRun=true').send(body)).body.errors
  }
  // A friend's row would be that of another patient, whose own rows it would change as well.
  const friends = { friends: file('patients.csv') }
  const ruleOf = (table: string) => expect.stringContaining(`must not be the table ${table} once more`)
  expect(await tried(friends, [...JOINS, { from: 'visits.cost', to: 'friends.id', public: true }])).toEqual([
    { field: 'source.tables.friends', rule: ruleOf('patients') },
  ])
  // Each patient is a row of their neighbour as well as a neighbour.
  const visits = { visits: file('patients.csv') }
  expect(await tried(visits, [{ from: 'visits.region', to: 'patients.id' }, JOINS[1] ?? {}])).toEqual([
    { field: 'source.tables.patients', rule: ruleOf('visits') },
  ])
  expect(
    await tried({ Hospitals: file('hospitals.csv') }, [
      ...JOINS,
      { from: 'visits.hospital', to: 'Hospitals.code', public: true },
    ]),
  ).toEqual([{ field: 'source.tables.Hospitals', rule: expect.stringContaining('more than case') }])
})

test('a public table may be joined under two names', async () => {
  const { source, ...others } = clinic('refused')
  const tables = { ...source.tables, others: file('hospitals.csv') }
  const joins = [...JOINS, { from: 'visits.hospital', to: 'others.code', public: true }]
  await service
    .as('custodian')
    .post('/v1/datasets?dryRun=true')
    .send({ ...others, source: { ...source, tables, joins } })
    .expect(200)
})

test('values that do not fit are told with the lines of their table', async () => {
  const declared = clinic('narrow')
  const columns = declared.columns.map((each) => ({
    ...each,
    ...(each.name === 'patients.region' ? { categories: ['south'], nullable: true } : {}),
    ...(each.name === 'hospitals.beds' ? { nullable: false } : {}),
  }))
  const tried = await service
    .as('custodian')
    .post('/v1/datasets?dryRun=true')
    .send({ ...declared, columns })
  expect(tried.body.errors).toEqual([
    {
      field: 'columns.4.name',
      rule: 'the source has 1 value that is missing, where a reference finds no row, in line 6 of visits',
    },
  ])
  const filled = columns.map((each) =>
    each.name === 'hospitals.beds' ? { ...each, onInvalidValue: { replaceWith: 0 } } : each,
  )
  // The patients of lines 2 and 4 have four visits. Line 5 has none.
  const { body } = await service
    .as('custodian')
    .post('/v1/datasets?dryRun=true')
    .send({ ...declared, columns: filled })
    .expect(200)
  const found = body.ingestion.invalidValues.flatMap(({ misfits }: { misfits: object[] }) => misfits)
  expect(found).toEqual([
    { rule: 'not-a-category', values: 4, unit: 'line', first: [2, 4], table: 'patients' },
    { rule: 'missing', values: 1, unit: 'line', first: [6], table: 'visits' },
  ])
})

test('a table that cannot be read is named, and so is one without a column', async () => {
  const declared = clinic('unreadable')
  const tried = async (tables: object, joins: readonly object[] = JOINS) => {
    const source = { ...declared.source, tables: { ...declared.source.tables, ...tables }, joins }
    const { body } = await service
      .as('custodian')
      .post('/v1/datasets?dryRun=true')
      .send({ ...declared, source })
    return body.errors
  }
  expect(await tried({ hospitals: { ...file('hospitals.csv'), csv: { encoding: 'utf-16' } } })).toEqual([
    { field: 'source.tables.hospitals', rule: 'cannot be read in its declared format' },
  ])
  expect(await tried({}, [JOINS[0] ?? {}, { ...JOINS[1], from: 'visits.clinic' }])).toEqual([
    { field: 'source.joins.1.from', rule: 'visits has no column of this name' },
  ])
})

test('the tables about people have one budget, and public tables may be used by many', async () => {
  const real = (id: string, visits: string, patients: string) => {
    const registration = clinic(id, { synthetic: false, budget: { epsilon: 1 } })
    const tables = { ...registration.source.tables, visits: file(visits), patients: file(patients) }
    return { ...registration, source: { ...registration.source, tables } }
  }
  await register(real('first', 'real-visits.csv', 'real-patients.csv')).expect(201)
  const elsewhere = await register(real('second', 'real-visits.csv', 'other-patients.csv')).expect(409)
  expect(elsewhere.body).toMatchObject({ code: 'source-registered', errors: [{ field: 'separateBudget' }] })
  const flat = {
    ...real('flat', '', ''),
    source: file('real-patients.csv'),
    columns: [{ name: 'id', type: 'identifier' }],
    privacyUnit: { kind: 'person', column: 'id', maxRows: 2 },
  }
  await register(flat).expect(409)
  await register(real('third', 'other-visits.csv', 'other-patients.csv')).expect(201)
  await register({ ...flat, separateBudget: 'Another study.' }).expect(201)
})

test('SQL names the dataset, or the tables joined as they are declared', async () => {
  await register(clinic('asked-in-sql')).expect(201)
  const ask = (sql: string) =>
    service.as('analyst').post('/v1/datasets/asked-in-sql/sql').send({ sql, epsilon: 0.1 })
  const same = [
    `SELECT SUM(cost) FROM "asked-in-sql" WHERE region = 'north'`,
    `SELECT SUM(visits.cost) FROM "asked-in-sql" AS c WHERE patients.region = 'north'`,
    `SELECT SUM(v.cost) FROM visits v JOIN patients p ON p.id = v.patient WHERE p.region = 'north'`,
    `SELECT SUM(cost) FROM visits JOIN patients ON visits.patient = patients.id
      LEFT JOIN hospitals h ON visits.hospital = h.code WHERE region IN ('north')`,
  ]
  const ids = new Set<string>()
  for (const sql of same) ids.add((await ask(sql).expect(200)).body.answer.id)
  expect([...ids]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)])
  const refused: readonly (readonly [string, string])[] = [
    [
      'SELECT COUNT(*) FROM patients',
      'FROM must begin with "visits", whose rows are those of "asked-in-sql".',
    ],
    ['SELECT COUNT(*) FROM visits LEFT JOIN patients ON visits.patient = patients.id', 'joins must be those'],
    ['SELECT COUNT(*) FROM visits JOIN patients ON visits.hospital = patients.id', 'joins must be those'],
    [
      'SELECT COUNT(*) FROM visits JOIN hospitals ON visits.hospital = hospitals.code',
      'LEFT JOIN hospitals ON',
    ],
    ['SELECT SUM(hospitals.beds) FROM visits', 'columns are those of "visits".'],
  ]
  for (const [sql, rule] of refused) expect((await ask(sql).expect(422)).body.detail).toContain(rule)
})

const TWO_FACTS: readonly object[] = [
  ...JOINS,
  { from: 'patients.id', to: 'prescriptions.person', maxRows: { visits: 2, prescriptions: 2 } },
]
const twoFacts = (id: string, joins: readonly object[] = TWO_FACTS) => {
  const { source, columns, ...others } = clinic(id, {}, joins)
  return {
    ...others,
    source: { ...source, tables: { ...source.tables, prescriptions: file('prescriptions.csv') } },
    columns: [...columns, { name: 'prescriptions.dose', type: 'integer', lower: 0, upper: 10 }],
    privacyUnit: { kind: 'person', column: 'patients.id', maxRows: 3 },
    budget: { epsilon: 10_000 },
  }
}

test('two facts of a person are combined, and the custodian is told what the cut left out', async () => {
  const { body } = await register(twoFacts('two-facts')).expect(201)
  expect(body.ingestion).toMatchObject({
    rowsRead: 6,
    // p1 has two of three visits with two of three prescriptions, of which three are kept; p2 has one.
    rowsBeyondMaxRows: 1,
    rowsStored: 4,
    people: 4,
    joins: [
      { from: 'visits.patient', missing: 0, dangling: 1 },
      { from: 'visits.hospital', missing: 0, dangling: 1 },
      // p3 has a visit alone, p4 a prescription alone, and one prescription is nobody's.
      {
        from: 'patients.id',
        to: 'prescriptions.person',
        missing: 1,
        dangling: 2,
        beyondMaxRows: { visits: 1, prescriptions: 1 },
      },
    ],
  })
  const stated = /Each row combines visits and prescriptions of one person: .* beyond 2 and 2 of them/
  expect(body.coverageStatement).toMatch(stated)
  const ask = async (question: object) => {
    const answer = await service.ask('two-facts', { ...question, epsilon: 1_000 }).expect(200)
    expect(answer.body.coverage.statement).toMatch(stated)
    return answer.body.result.value
  }
  expect(await ask({ kind: 'count' })).toBe(4)
  expect(await ask({ kind: 'count', of: 'people' })).toBe(2)
  expect(await ask({ kind: 'sum', column: 'dose', where: { column: 'cost', op: '=', value: 40 } })).toBe(4)

  const sql = async (from: string) =>
    (
      await service
        .as('analyst')
        .post('/v1/datasets/two-facts/sql')
        .send({ sql: `SELECT COUNT(*) FROM ${from}`, epsilon: 0.1 })
    ).body
  const visits = 'visits v JOIN patients p ON v.patient = p.id'
  expect((await sql(`${visits} JOIN prescriptions r ON r.person = p.id`)).answer).toBeDefined()
  expect((await sql(visits)).detail).toContain(
    'FROM must also have JOIN prescriptions ON patients.id = prescriptions.person: each row is one of visits with one of ' +
      'prescriptions.',
  )
})

test('made-up rows of two facts are pairs of few rows of either fact', async () => {
  await register(twoFacts('made-up-facts')).expect(201)
  const { body } = await service
    .as('analyst')
    .get('/v1/datasets/made-up-facts/dummy?rows=300&seed=s&format=json')
    .expect(200)
  const people = Map.groupBy(body as Record<string, unknown>[], (row) => row['patients.id'])
  const pairs = [...people.values()].filter((rows) => rows.length === 3)
  expect(pairs.length).toBeGreaterThan(0)
  for (const rows of pairs) {
    const [first, second, third] = rows
    expect(first?.['visits.cost']).toBe(second?.['visits.cost'])
    expect(first?.['prescriptions.dose']).toBe(third?.['prescriptions.dose'])
  }
  const differ = pairs.filter(
    ([first, second]) => first?.['prescriptions.dose'] !== second?.['prescriptions.dose'],
  )
  expect(differ.length).toBeGreaterThan(0)
})

test('facts are refused by their rule, in the tables as in the request', async () => {
  const tried = async (body: object) =>
    (await service.as('custodian').post('/v1/datasets?dryRun=true').send(body)).body
  const facts = TWO_FACTS[2] ?? {}
  expect(
    await tried(twoFacts('refused', TWO_FACTS.with(2, { ...facts, from: 'visits.patient' }))),
  ).toMatchObject({
    code: 'invalid-request',
    errors: [{ field: 'source.joins.2.from', rule: expect.stringContaining('must be patients.id') }],
  })
  const elsewhere = TWO_FACTS.with(2, { ...facts, to: 'prescriptions.patient' })
  expect((await tried(twoFacts('refused', elsewhere))).errors).toEqual([
    { field: 'source.joins.2.to', rule: 'prescriptions has no column of this name' },
  ])
})
