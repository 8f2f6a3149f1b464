import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Source } from '../../../src/core/dataset/dataset.ts'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'
import type { TableEngine } from '../../../src/engines/tables/table-engine.ts'
import { startTestService, type TestService } from '../../e2e/service.ts'
import { describePostgres } from '../../servers/postgres.ts'
import { column } from '../fixture.ts'
import { liveTable, question, tableOf, testJoins } from '../joined-shops.ts'
import { connectionOf } from './tables.ts'

const table = (name: string, mode: 'live' | 'snapshot', facts: object = {}) => ({
  ...{ kind: 'table', connection: 'warehouse', table: name, mode },
  ...facts,
})
const JOINS = [
  { from: 'visits.patient', to: 'patients.id' },
  { from: 'visits.hospital', to: 'hospitals.code', public: true },
]
const COLUMNS = [
  { name: 'patients.id', type: 'identifier' },
  { name: 'visits.cost', type: 'integer', lower: 0, upper: 100 },
  { name: 'patients.region', type: 'category', categories: ['north', 'south'] },
  { name: 'patients.born', type: 'integer', lower: 1900, upper: 2020 },
  { name: 'hospitals.beds', type: 'integer', lower: 0, upper: 1000, nullable: true },
]
const EPSILON = 40

describePostgres('joined tables of PostgreSQL', ({ createDatabase }) => {
  let url: string
  let admin: Client
  let service: TestService
  beforeAll(async () => {
    url = await createDatabase()
    admin = new Client(url)
    await admin.connect()
    // p1 has three visits, p2 one, p3 one to an unknown hospital, p4 none; one is nobody's, and two have no patient.
    await admin.query(`CREATE TABLE patients (id varchar(9) PRIMARY KEY, region text NOT NULL, born integer NOT NULL);
      INSERT INTO patients VALUES ('p1', 'north', 1950), ('p2', 'south', 1980), ('p3', 'north', 2001), ('p4', 'south', 1999), (' ', 'south', 1999);
      CREATE TABLE hospitals (code integer UNIQUE, beds integer NOT NULL);
      INSERT INTO hospitals VALUES (1, 100), (2, 20), (NULL, 7);
      CREATE TABLE visits (patient text, hospital integer, cost integer NOT NULL);
      INSERT INTO visits VALUES ('p1', 1, 10), ('p1', 2, 20), ('p1', 1, 30), ('p2', NULL, 40), ('p3', 9, 50), ('p9', 1, 60),
        (NULL, 1, 70), (' ', 1, 80);
      CREATE VIEW all_visits AS SELECT v.patient AS "patients.id", v.cost AS "visits.cost", p.region AS "patients.region",
        p.born AS "patients.born", h.beds AS "hospitals.beds"
        FROM visits v JOIN patients p ON p.id = v.patient AND p.id <> ' ' LEFT JOIN hospitals h ON h.code = v.hospital;
      CREATE TABLE twice (id text); INSERT INTO twice VALUES ('p1'), ('p1'), ('p2');
      CREATE TABLE once (id text); INSERT INTO once VALUES ('p1'), ('p2');
      CREATE TABLE partly (id text, born integer); CREATE UNIQUE INDEX ON partly (id) WHERE born > 0;
      CREATE UNIQUE INDEX ON partly (id, born)`)
    const { hostname, port, pathname, username } = new URL(url)
    const warehouse = {
      ...{ engine: 'postgres', host: hostname, port: Number(port), user: username },
      ...{ database: pathname.slice(1), allowWritableRole: true },
    }
    service = await startTestService(
      { SOTTO_CONNECTIONS: 'connections.json' },
      { files: { 'connections.json': JSON.stringify({ warehouse }) } },
    )
  })
  afterAll(async () => {
    await service?.close()
    await admin?.end()
  })

  const clinic = (id: string, mode: 'live' | 'snapshot', changes: object = {}, tables: object = {}) => ({
    ...{ id, title: 'Visits to two hospitals', synthetic: true, columns: COLUMNS },
    source: {
      kind: 'joined',
      tables: {
        visits: table('visits', mode),
        patients: table('patients', mode),
        hospitals: table('hospitals', mode),
        ...tables,
      },
      joins: JOINS,
    },
    privacyUnit: { kind: 'person', column: 'patients.id', maxRows: 2 },
    ...{ neighbours: mode === 'live' ? 'add-remove' : 'change-one', timing: 'off' },
    ...{ budget: { epsilon: 10_000 }, leftOut: { epsilon: 0 } },
    ...changes,
  })
  const register = (body: object) => service.as('custodian').post('/v1/datasets').send(body)
  const tried = async (body: object) =>
    (await service.as('custodian').post('/v1/datasets?dryRun=true').send(body)).body

  it.each(['live', 'snapshot'] as const)('have the rows of the join: %s', async (mode) => {
    const { body } = await register(clinic(`joined-${mode}`, mode)).expect(201)
    expect(body.ingestion).toMatchObject({
      rowsRead: 8,
      rowsWithoutIdentifier: 0,
      rowsBeyondMaxRows: 1,
      rowsStored: 4,
      people: 4,
      joins: [
        { from: 'visits.patient', to: 'patients.id', missing: 2, dangling: 1 },
        { from: 'visits.hospital', to: 'hospitals.code', missing: 1, dangling: 1 },
      ],
    })
    expect(body.people).toBe(mode === 'live' ? undefined : 4)
    const constant = body.columns.filter((each: { constantPerPerson?: boolean }) => each.constantPerPerson)
    expect(constant.map(({ name }: { name: string }) => name)).toEqual(['patients.region', 'patients.born'])
    const ask = async (question: object) =>
      (await service.ask(`joined-${mode}`, { ...question, epsilon: EPSILON }).expect(200)).body.result.value
    expect(await ask({ kind: 'count' })).toBe(4)
    expect(await ask({ kind: 'count', where: { column: 'beds', op: 'isNull' } })).toBe(2)
    expect(await ask({ kind: 'count', of: 'people', where: { column: 'born', op: '<', value: 1990 } })).toBe(
      2,
    )
    expect(await ask({ kind: 'count', of: 'people' })).toBe(3)
  })

  it.each(['live', 'snapshot'] as const)('combine two facts, of which no key is unique: %s', async (mode) => {
    await admin.query(`CREATE TABLE IF NOT EXISTS told (person text, dose integer NOT NULL); TRUNCATE told;
      INSERT INTO told VALUES ('p1', 1), ('p1', 1), ('p1', 1), ('p2', 5), ('p4', 5), (NULL, 5)`)
    const body = clinic(`facts-${mode}`, mode)
    const facts = { from: 'patients.id', to: 'told.person', maxRows: { visits: 2, told: 2 } }
    const { source } = body
    const registered = await register({
      ...body,
      source: {
        ...source,
        tables: { ...source.tables, told: table('told', mode) },
        joins: [...JOINS, facts],
      },
      columns: [...COLUMNS, { name: 'told.dose', type: 'integer', lower: 0, upper: 9 }],
      privacyUnit: { kind: 'person', column: 'patients.id', maxRows: 3 },
    }).expect(201)
    expect(registered.body.ingestion).toMatchObject({
      ...{ rowsRead: 8, rowsBeyondMaxRows: 1, rowsStored: 4, people: 4 },
      joins: [
        { missing: 2, dangling: 1 },
        { missing: 1, dangling: 1 },
        { missing: 1, dangling: 2, beyondMaxRows: { visits: 1, told: 1 } },
      ],
    })
    const ask = async (question: object) =>
      (await service.ask(`facts-${mode}`, { ...question, epsilon: 1_000 }).expect(200)).body.result.value
    expect(await ask({ kind: 'sum', column: 'dose' })).toBe(8)
    expect(await ask({ kind: 'count', of: 'people' })).toBe(2)
  })

  it('are compared where they are, also in columns of a table without a row', async () => {
    const body = clinic('rows', 'live', { columns: [COLUMNS[1], COLUMNS[4]], privacyUnit: { kind: 'row' } })
    const { patients: _, ...tables } = body.source.tables
    const { leftOut: __, ...rows } = { ...body, source: { ...body.source, tables, joins: [JOINS[1]] } }
    await register(rows).expect(201)
    const count = async (where: object) =>
      (await service.ask('rows', { kind: 'count', where, epsilon: EPSILON }).expect(200)).body.result.value
    expect(await count({ column: 'beds', op: '<', value: 50 })).toBe(1)
    expect(await count({ column: 'hospitals.beds', op: '>=', value: 0 })).toBe(6)
    expect(await count({ column: 'beds', op: 'isNull' })).toBe(2)
  })

  it('are of one connection, one mode and one freshness', async () => {
    const visits = { kind: 'file', path: 'visits.csv', format: 'csv' }
    const broken = async (tables: object, mode: 'live' | 'snapshot' = 'live') =>
      (await tried(clinic('refused', mode, {}, tables))).errors
    expect(await broken({ visits })).toEqual([
      {
        field: 'source.tables.visits.kind',
        rule: expect.stringContaining('must be "table", as patients is'),
      },
    ])
    expect(await broken({ hospitals: table('hospitals', 'snapshot') })).toEqual([
      { field: 'source.tables.hospitals.mode', rule: 'must be that of visits' },
    ])
    expect(await broken({ hospitals: table('hospitals', 'live', { connection: 'other' }) })).toEqual([
      { field: 'source.tables.hospitals.connection', rule: 'must be that of visits' },
    ])
    expect(await broken({ hospitals: table('hospitals', 'live', { freshness: 'hour' }) })).toEqual([
      { field: 'source.tables.hospitals.freshness', rule: 'must be that of visits' },
    ])
    expect(await broken({ hospitals: table('absent', 'live') })).toEqual([
      { field: 'source.tables.hospitals.table', rule: expect.stringContaining('names no table') },
    ])
  })

  it('must have unique keys, which the database guarantees where they are live', async () => {
    const broken = async (mode: 'live' | 'snapshot', hospitals: string) => {
      const body = clinic(
        'refused',
        mode,
        { columns: COLUMNS.slice(0, 4) },
        { hospitals: table(hospitals, mode) },
      )
      const joins = [JOINS[0], { from: 'visits.patient', to: 'hospitals.id', public: true }]
      return (await tried({ ...body, source: { ...body.source, joins } })).errors
    }
    const unguaranteed = [
      { field: 'source.joins.1.to', rule: expect.stringContaining('must be a primary key') },
    ]
    for (const name of ['once', 'twice', 'partly']) expect(await broken('live', name)).toEqual(unguaranteed)
    expect(await broken('snapshot', 'once')).toBeUndefined()
    expect(await broken('snapshot', 'twice')).toEqual([
      {
        field: 'source.joins.1.to',
        rule: expect.stringContaining('several rows of hospitals have the same'),
      },
    ])
  })

  it.each(['live', 'snapshot'] as const)(
    'may list people twice, of whom one row is kept: %s',
    async (mode) => {
      const columns = [COLUMNS[0], COLUMNS[1], COLUMNS[4]]
      const body = clinic(`twice-${mode}`, mode, { columns }, { patients: table('twice', mode) })
      expect((await register(body).expect(201)).body.ingestion).toMatchObject({
        ...{ rowsRead: 8, rowsBeyondMaxRows: 1, rowsStored: 3, people: 2 },
        joins: [{ missing: 2, dangling: 2 }, {}],
      })
      const asked = await service.ask(`twice-${mode}`, { kind: 'count', epsilon: EPSILON }).expect(200)
      expect(asked.body.result.value).toBe(3)
    },
  )

  it('are drafted from the foreign keys of the database', async () => {
    await admin.query(`CREATE SCHEMA shop;
      CREATE TABLE shop.customers (id uuid PRIMARY KEY, "best friend" uuid REFERENCES shop.customers, age integer NOT NULL);
      CREATE TABLE shop."2 orders" (code bigint PRIMARY KEY, customer uuid NOT NULL REFERENCES shop.customers,
        seller uuid REFERENCES shop.customers, hospital integer REFERENCES hospitals (code));
      CREATE TABLE shop.lines ("order" bigint REFERENCES shop."2 orders", pieces integer NOT NULL)`)
    const draft = async (name: string) =>
      (
        await service
          .as('custodian')
          .post('/v1/drafts')
          .send({ source: { kind: 'table', connection: 'warehouse', table: name, joins: true } })
          .expect(200)
      ).body
    const { declaration, questions, notes } = await draft('shop.lines')
    const joins = [
      { from: 'lines.order', to: 'orders.code', public: 'TODO' },
      { from: 'orders.customer', to: 'customers.id', public: 'TODO' },
      { from: 'orders.hospital', to: 'hospitals.code', public: 'TODO' },
    ]
    expect(declaration.source).toEqual({
      kind: 'joined',
      tables: {
        lines: table('shop.lines', 'live'),
        orders: table('shop.2 orders', 'live'),
        customers: table('shop.customers', 'live'),
        hospitals: table('public.hospitals', 'live'),
      },
      joins,
    })
    const fields = questions.map(({ field }: { field: string }) => field)
    expect(fields.slice(0, 3)).toEqual(joins.map((_, i) => `source.joins.${i}.public`))
    const said = notes.map(({ text }: { text: string }) => text)
    expect(said).toContainEqual(expect.stringContaining('orders.seller leads to shop.customers as well'))
    expect(said).toContainEqual(
      expect.stringContaining('customers.best friend leads to shop.customers as well'),
    )
    const bounds = { lower: 0, upper: 9 }
    const answers = {
      source: { ...declaration.source, joins: joins.map((each, i) => ({ ...each, public: i === 2 })) },
      columns: declaration.columns.map((each: object) => ('lower' in each ? { ...each, ...bounds } : each)),
      privacyUnit: { kind: 'person', column: 'customers.id', maxRows: 2 },
      ...{ budget: { epsilon: 1 }, synthetic: true, leftOut: { epsilon: 0 } },
    }
    expect((await tried({ ...declaration, ...answers })).errors).toBeUndefined()
    const alone = await draft('hospitals')
    expect(alone.declaration.source).toEqual(table('public.hospitals', 'live'))
    expect(alone.notes[0].text).toContain('declares no foreign key')
  })

  it('have no names that PostgreSQL would cut off', async () => {
    const long = `visits.${'ä'.repeat(56)}`
    const columns = [...COLUMNS, { name: long, type: 'boolean', nullable: true }]
    expect((await tried(clinic('refused', 'live', { columns }))).errors).toEqual([
      { field: 'columns.5.name', rule: expect.stringContaining('at most 63 bytes') },
    ])
  })

  it('refuse references that lead nowhere only where they are copied', async () => {
    const broken = async (mode: 'live' | 'snapshot') => {
      const body = clinic('refused', mode)
      const joins = [{ ...JOINS[0], dangling: 'refuse' }, JOINS[1]]
      return (await tried({ ...body, source: { ...body.source, joins } })).errors
    }
    expect(await broken('live')).toEqual([
      { field: 'source.joins.0.dangling', rule: expect.stringContaining('must be "drop" for live tables') },
    ])
    expect(await broken('snapshot')).toEqual([
      {
        field: 'source.joins.0.from',
        rule: expect.stringContaining('2 rows have no value, and 1 have'),
      },
    ])
  })

  it('are not public where the catalogue shows that they depend on people', async () => {
    await admin.query(`CREATE MATERIALIZED VIEW visited AS SELECT hospital AS code, count(*)::integer AS beds FROM visits
        WHERE hospital IS NOT NULL GROUP BY 1;
      CREATE UNIQUE INDEX ON visited (code);
      CREATE TABLE founded (code integer UNIQUE, beds integer NOT NULL, by text REFERENCES patients ON DELETE CASCADE);
      CREATE VIEW over_founded AS SELECT * FROM founded;
      CREATE TABLE everybody (LIKE patients INCLUDING ALL);
      CREATE TABLE adults (code integer, beds integer) INHERITS (everybody);
      CREATE VIEW large AS SELECT * FROM hospitals`)
    const broken = async (mode: 'live' | 'snapshot', name: string, people = 'patients') => {
      const tables = { hospitals: table(name, mode), patients: table(people, mode) }
      return (await tried(clinic('refused', mode, {}, tables))).errors
    }
    const refused = (people: string, because = 'depends on') => [
      { field: 'source.tables.hospitals', rule: expect.stringContaining(`${because} ${people}`) },
    ]
    expect(await broken('live', 'visited')).toEqual(refused('visits', 'shows the rows of'))
    expect(await broken('live', 'founded')).toEqual(refused('patients'))
    expect(await broken('snapshot', 'over_founded')).toEqual(refused('patients'))
    expect(await broken('snapshot', 'adults', 'everybody')).toEqual(refused('patients', 'shows the rows of'))
    expect(await broken('snapshot', 'large')).toBeUndefined()
  })

  it('about people show different rows, as far as the catalogue tells', async () => {
    await admin.query(`CREATE TABLE staff (id text PRIMARY KEY, manager text, region text NOT NULL, born integer NOT NULL);
      INSERT INTO staff VALUES ('s1', 's2', 'north', 1950), ('s2', NULL, 'south', 1980);
      CREATE VIEW managers AS SELECT id, region, born FROM staff; CREATE VIEW employed AS SELECT * FROM staff;
      CREATE TABLE regions (name text UNIQUE); INSERT INTO regions VALUES ('north'), ('south');
      CREATE VIEW in_region AS SELECT v.* FROM visits v, regions WHERE name = 'north';
      CREATE VIEW located AS SELECT p.* FROM patients p JOIN regions ON name = region`)
    const broken = async (tables: object, joins: readonly object[]) => {
      const body = clinic('refused', 'live')
      const columns = COLUMNS.slice(2, 4)
      const unit = { kind: 'person', column: 'patients.id', maxRows: 2 }
      const source = { kind: 'joined', tables, joins }
      const all = [{ name: 'patients.id', type: 'identifier' }, ...columns]
      return (await tried({ ...body, columns: all, privacyUnit: unit, source })).errors
    }
    const toManager = [{ from: 'visits.manager', to: 'patients.id' }]
    for (const [rows, people] of [
      ['staff', 'managers'],
      ['employed', 'managers'],
    ] as const)
      expect(
        await broken({ visits: table(rows, 'live'), patients: table(people, 'live') }, toManager),
      ).toEqual([
        {
          field: 'source.tables.patients',
          rule: expect.stringContaining('must not be the table visits once more, nor show the same rows'),
        },
      ])
    const located = { visits: table('in_region', 'live'), patients: table('located', 'live') }
    const joins = [{ from: 'visits.patient', to: 'patients.id' }]
    expect(await broken(located, joins)).toMatchObject([{ field: 'source.tables.patients' }])
    const regions = { regions: table('regions', 'live') }
    const lookup = { from: 'patients.region', to: 'regions.name', public: true }
    expect(await broken({ ...located, ...regions }, [...joins, lookup])).toBeUndefined()
  })

  it('are not public where a view over them is about people', async () => {
    await admin.query(`CREATE TABLE crew (id text, manager text, year integer) PARTITION BY LIST (year);
      CREATE TABLE crew_2024 (id text UNIQUE, manager text, year integer); ALTER TABLE crew ATTACH PARTITION crew_2024 FOR VALUES IN (2024);
      CREATE VIEW named_crew AS SELECT * FROM crew; CREATE MATERIALIZED VIEW kept_crew AS SELECT * FROM named_crew;
      CREATE VIEW crew_of_2024 AS SELECT * FROM crew_2024; CREATE TABLE duties (id text, cost integer)`)
    const columns = [
      { name: 'patients.id', type: 'identifier' },
      { name: 'visits.cost', type: 'integer', lower: 0, upper: 100, nullable: true },
    ]
    const privacyUnit = { kind: 'person', column: 'patients.id', maxRows: 2 }
    const broken = async (people: string, rows: string) => {
      const [visits, patients, crew] = [rows, people, 'crew'].map((name) => table(name, 'snapshot'))
      const joins = [
        { from: 'visits.id', to: 'patients.id' },
        { from: 'patients.manager', to: 'crew.id', public: true },
      ]
      const source = { kind: 'joined', tables: { visits, patients, crew }, joins }
      return (await tried(clinic('refused', 'snapshot', { columns, privacyUnit, source }))).errors
    }
    const refused = (people: string) => [
      {
        field: 'source.tables.crew',
        rule: expect.stringContaining(`must not be public: it shows the rows of ${people}`),
      },
    ]
    for (const people of ['named_crew', 'kept_crew', 'crew_of_2024'])
      expect(await broken(people, 'duties')).toEqual(refused('patients'))
  })

  it('about people have one budget, under their complete names', async () => {
    const real = { synthetic: false, budget: { epsilon: 1 } }
    await admin.query(
      'CREATE TABLE real_patients (LIKE patients INCLUDING ALL); CREATE TABLE real_visits (LIKE visits)',
    )
    const patients = { patients: table('real_patients', 'live'), visits: table('real_visits', 'live') }
    await register(clinic('real', 'live', real, patients)).expect(201)
    const flat = {
      source: table('public.real_patients', 'live'),
      columns: [{ name: 'id', type: 'identifier' }],
      privacyUnit: { kind: 'person', column: 'id', maxRows: 1 },
    }
    const { body } = await register(clinic('flat', 'live', { ...real, ...flat })).expect(409)
    expect(body.code).toBe('source-registered')
    const hospitals = {
      source: table('hospitals', 'live'),
      columns: [{ name: 'beds', type: 'integer', lower: 0, upper: 1000 }],
      privacyUnit: { kind: 'row' },
    }
    const { leftOut: _, ...others } = clinic('hospitals', 'live', { ...real, ...hospitals })
    await register(others).expect(201)
  })

  it('are not queried once a key may repeat or a column of any table has changed, and are once that is undone', async () => {
    await admin.query(`CREATE TABLE wards (LIKE hospitals); ALTER TABLE wards ADD CONSTRAINT one UNIQUE (code);
      INSERT INTO wards SELECT * FROM hospitals`)
    await register(clinic('changing', 'live', {}, { hospitals: table('wards', 'live') })).expect(201)
    const ask = (epsilon: number) => service.ask('changing', { kind: 'count', epsilon })
    await ask(EPSILON).expect(200)
    const suspended = async () =>
      (await service.as('custodian').get('/v1/datasets/changing/suspension').expect(200)).body
    const resume = () =>
      service.as('custodian').post('/v1/datasets/changing/resume').send({ reason: 'As before.' })
    const expected = (column: string) => ({ change: 'not-unique', column })
    const changes = [
      [
        'ALTER TABLE wards DROP CONSTRAINT one',
        'ALTER TABLE wards ADD CONSTRAINT one UNIQUE (code)',
        expected('hospitals.code'),
      ],
      [
        'ALTER TABLE visits ALTER cost DROP NOT NULL',
        'ALTER TABLE visits ALTER cost SET NOT NULL',
        { change: 'nullable', column: 'visits.cost' },
      ],
      [
        'ALTER TABLE visits RENAME hospital TO ward',
        'ALTER TABLE visits RENAME ward TO hospital',
        { change: 'missing', column: 'visits.hospital' },
      ],
    ] as const
    for (const [i, [change, undo, found]] of changes.entries()) {
      await admin.query(change)
      expect((await ask(1 + i)).status).toBeGreaterThanOrEqual(500)
      expect(await suspended()).toMatchObject({ suspended: true, table: { changes: [found] } })
      await admin.query(undo)
      await resume().expect(200)
      await ask(1 + i).expect(200)
    }
    // A table that inherits may repeat the keys, and does not any more.
    await admin.query('CREATE TABLE more_wards () INHERITS (wards)')
    expect((await ask(8)).status).toBeGreaterThanOrEqual(500)
    expect(await suspended()).toMatchObject({
      table: { changes: expect.arrayContaining([expected('hospitals.code')]) },
    })
    await admin.query('DROP TABLE more_wards')
    await resume().expect(200)
    await ask(8).expect(200)
    // An index that is added, or a key that no longer may be NULL, is no change of what is relied on.
    await admin.query('CREATE UNIQUE INDEX ON wards (code); CREATE INDEX ON visits (hospital)')
    await ask(9).expect(200)
    const { body } = await service.as('custodian').post('/v1/datasets/changing/versions').send({}).expect(409)
    expect(body.code).toBe('nothing-to-publish')
  })
})

describePostgres('a join in PostgreSQL', ({ createDatabase }) => {
  let admin: Client
  let engine: TableEngine
  beforeAll(async () => {
    const url = await createDatabase()
    admin = new Client(url)
    await admin.connect()
    engine = openPostgresTables(connectionOf(url))
    // Under this collation texts that differ are equal.
    await admin.query(`CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
      CREATE TABLE lines ("order" integer, product text COLLATE no_case, pieces integer NOT NULL);
      CREATE TABLE orders (code integer, customer text COLLATE no_case, channel text);
      CREATE TABLE customers (id varchar(9), age integer NOT NULL);
      CREATE UNIQUE INDEX ON orders (code);
      CREATE TABLE products (code bigint PRIMARY KEY, name text NOT NULL);
      CREATE TABLE flat ("customers.id" text, "lines.pieces" integer, "orders.channel" text, "customers.age" integer,
        "products.name" text)`)
  })
  afterAll(async () => {
    await engine?.close()
    await admin?.end()
  })

  const insert = async (name: string, rows: readonly (readonly (string | null)[])[]) => {
    const values = rows.map(
      (row) => `(${row.map((value) => (value === null ? 'NULL' : `'${value}'`)).join(', ')})`,
    )
    const inserted = values.length === 0 ? '' : `INSERT INTO ${name} VALUES ${values.join(', ')}`
    await admin.query(`TRUNCATE ${name}; ${inserted}`)
  }
  testJoins(() => ({ engine, insert }), 20)

  it('keeps the same rows of a person in whatever order they are found, though texts differ at their ends only', async () => {
    await admin.query(`CREATE TABLE seen (person text, cost integer); INSERT INTO seen VALUES ('a', 1);
      CREATE TABLE told (person text, note text)`)
    const declared = [column.identifier('seen.person'), column.string('told.note')]
    const joins = [{ from: 'seen.person', to: 'told.person', public: false, maxRows: { seen: 1, told: 1 } }]
    const tables = { seen: liveTable('seen'), told: liveTable('told') }
    const privacyUnit = { kind: 'person', column: 'seen.person', maxRows: 1 } as const
    const found = await tableOf(engine, { kind: 'joined', tables, joins }, 'told', declared, privacyUnit)
    const lengthsOf = async (order: 'ASC' | 'DESC') => {
      await admin.query(`TRUNCATE told; INSERT INTO told SELECT 'a', repeat('x', length)
        FROM unnest(ARRAY[65536, 65537]) AS length ORDER BY length ${order}`)
      const lengths: (number | undefined)[] = []
      for await (const rows of engine.read(found)) lengths.push(...rows.map(([, note]) => note?.length))
      return lengths
    }
    expect(await lengthsOf('ASC')).toEqual(await lengthsOf('DESC'))
  })

  it('fails if a key may repeat once the statement has begun', async () => {
    // The planner computes the function, and then looks for tables that inherit.
    await admin.query(`CREATE FUNCTION slow() RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT pg_sleep(1) IS NOT NULL';
      CREATE TABLE raced (order_code integer, customer text); CREATE VIEW slow_raced AS SELECT * FROM raced WHERE slow();
      INSERT INTO raced VALUES (1, 'a');
      CREATE TABLE racing (code integer UNIQUE); INSERT INTO racing VALUES (1);
      CREATE TABLE past () INHERITS (racing); DROP TABLE past`)
    const joins = [{ from: 'rows.order_code', to: 'racing.code', public: true }] as const
    const source: Source = {
      kind: 'joined',
      tables: { rows: liveTable('slow_raced'), racing: liveTable('racing') },
      joins,
    }
    const columns = [column.integer('racing.code', 0n, 9n)]
    const found = await tableOf(engine, source, 'raced', columns, { kind: 'row' })
    engine.open(found)
    const asked = () =>
      engine.aggregate(found.dataset, {
        ...question,
        groupBy: [],
        statistics: [{ kind: 'count' }],
        bounding: { kind: 'one-row-each' },
      })
    expect(await asked()).toEqual([[1n]])
    const answer = asked()
    const isRunning = `SELECT FROM pg_stat_activity WHERE query LIKE '%AS sotto_source%' AND pid <> pg_backend_pid() AND state = 'active'`
    await expect.poll(async () => (await admin.query(isRunning)).rows.length).toBe(1)
    await admin.query('CREATE TABLE more_racing () INHERITS (racing); INSERT INTO more_racing VALUES (1)')
    await expect(answer).rejects.toMatchObject({ name: 'TableChanged' })
    await engine.closeDataset(found.dataset)
  })
})
