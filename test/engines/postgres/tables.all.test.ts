import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Column, Dataset } from '../../../src/core/dataset/dataset.ts'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'
import {
  findColumnChanges,
  type TableDataset,
  type TableEngine,
} from '../../../src/engines/tables/table-engine.ts'
import { describePostgres } from '../../servers/postgres.ts'
import { withClient } from '../../servers/postgres-server.ts'
import { column, datasetOf } from '../fixture.ts'
import { connectionOf } from './tables.ts'

describePostgres('tables of PostgreSQL', ({ createDatabase }) => {
  let url: string
  let admin: Client
  let engine: TableEngine
  beforeAll(async () => {
    url = await createDatabase()
    admin = new Client(url)
    await admin.connect()
    engine = openPostgresTables(connectionOf(url))
  })
  afterAll(async () => {
    await engine.close()
    await admin.end()
  })

  const waitingForLocks = async (sessions: number): Promise<void> => {
    for (;;) {
      const { rows } = await admin.query<{ waiting: number }>(
        `SELECT count(*)::int AS waiting FROM pg_stat_activity
          WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      )
      if (rows[0]?.waiting === sessions) return
    }
  }

  /** The stored values of one column of a table. */
  const stored = async (name: string, declared: Column): Promise<readonly (string | null)[]> => {
    const values: (string | null)[] = []
    for await (const rows of engine.read(await tableOf(name, [declared])))
      values.push(...rows.map(([value]) => value ?? null))
    return values
  }
  const tableOf = async (name: string, columns: readonly Column[]): Promise<TableDataset> => {
    const dataset: Dataset = datasetOf(columns, name)
    const found = await engine.describe({ schema: 'public', name })
    const sources = columns.map((each) => {
      const source = found?.find((other) => other.name === each.name)
      if (source === undefined) throw new Error('the table lacks a column')
      return source
    })
    return { dataset, table: { schema: 'public', name }, columns: sources, unit: { kind: 'row' } }
  }

  it.each([
    ['date', column.date('v', '2000-01-01', '2000-12-31'), ['11322', '10957']],
    [
      'timestamp',
      column.timestamp('v', '2000-01-01T00:00:00Z', '2000-01-02T00:00:00Z'),
      ['946771200', '946684800'],
    ],
    [
      'timestamptz',
      column.timestamp('v', '2000-01-01T00:00:00Z', '2000-01-02T00:00:00Z'),
      ['946771200', '946684800'],
    ],
    ['timestamp', column.date('v', '2000-01-01', '2000-12-31'), ['11322', '10957']],
    [
      'date',
      column.timestamp('v', '2000-01-01T00:00:00Z', '2000-01-02T00:00:00Z'),
      ['946771200', '946684800'],
    ],
    ['double precision', column.number('v', 1n, -5n, 9n), ['9', '-5']],
    ['real', column.integer('v', -5n, 9n), ['9', '-5']],
    ['numeric', column.number('v', 250_000_000n, -5n, 9n), ['9', '-5']],
  ] as const)('clamp infinities of %s', async (type, declared, expected) => {
    await admin.query('DROP TABLE IF EXISTS infinite')
    await admin.query(
      `CREATE TABLE infinite AS SELECT v::${type} FROM (VALUES ('infinity'), ('-infinity'), (NULL)) t(v)`,
    )
    expect(await stored('infinite', declared)).toEqual([...expected, null])
  })

  it('have no identifier in NaN, and NaN does not fit a number', async () => {
    await admin.query(
      "CREATE TABLE nans AS SELECT 'NaN'::numeric(9,0) AS id, 'NaN'::float8 AS x, 'NaN'::real AS y",
    )
    const table = await tableOf('nans', [
      column.identifier('id', 'drop-row'),
      column.number('x', 1n, 0n, 9n),
      column.integer('y', 0n, 9n),
    ])
    expect(await engine.inspect(table)).toMatchObject({
      rowsRead: 1,
      rowsWithoutIdentifier: 1,
      misfits: [1, 0, 0, 0, 0, 0],
    })
    expect(await stored('nans', column.number('x', 1n, 0n, 9n))).toEqual([null])
    expect(await stored('nans', column.integer('y', 0n, 9n))).toEqual([null])
  })

  it('store the same value alone and among others, also between two points of the grid', async () => {
    await admin.query('CREATE TABLE edges (v float8); CREATE TABLE edge (v float8)')
    await admin.query(
      'INSERT INTO edges SELECT (i + d)::float8 / 8 FROM generate_series(-26, 26) i, (VALUES (0), (1e-12), (-1e-12)) t(d)',
    )
    const declared = column.number('v', 250_000_000n, -12n, 12n)
    const together = await stored('edges', declared)
    const { rows } = await admin.query<{ v: number }>('SELECT v FROM edges')
    const alone: (string | null)[] = []
    for (const { v } of rows) {
      await admin.query('TRUNCATE edge')
      await admin.query('INSERT INTO edge VALUES ($1)', [v])
      alone.push(...(await stored('edge', declared)))
    }
    expect(alone).toEqual(together)
    expect(new Set(together).size).toBe(25)
  })

  it('compare the labels of enumerations byte by byte', async () => {
    await admin.query("CREATE TYPE mood AS ENUM ('a', 'A', 'b')")
    await admin.query("CREATE TABLE moods AS SELECT v::mood FROM (VALUES ('a'), ('A'), ('b'), (NULL)) t(v)")
    expect((await engine.describe({ schema: 'public', name: 'moods' }))?.[0]?.type).toBe('enum public.mood')
    expect(await stored('moods', column.category('v', ['A', 'a', 'c']))).toEqual(['1', '0', null, null])
  })

  it('are tables, views, materialized views and partitioned tables, in the named schema', async () => {
    await admin.query(`CREATE SCHEMA "Clinic's"; CREATE TABLE "Clinic's"."a ""b""" (x integer NOT NULL, "Y z" numeric(10,2));
      CREATE VIEW viewed AS SELECT * FROM "Clinic's"."a ""b""";
      CREATE MATERIALIZED VIEW materialized AS SELECT * FROM viewed;
      CREATE TABLE parted (x integer NOT NULL) PARTITION BY RANGE (x);
      CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (9);
      CREATE TABLE parent (x integer NOT NULL); CREATE TABLE child () INHERITS (parent)`)
    const x = { name: 'x', type: 'integer', notNull: true }
    const y = { name: 'Y z', type: 'numeric(10,2)', notNull: false }
    expect(await engine.describe({ schema: "Clinic's", name: 'a "b"' })).toEqual([x, y])
    expect(await engine.describe({ schema: 'public', name: 'viewed' })).toEqual([{ ...x, notNull: false }, y])
    expect(await engine.describe({ schema: 'public', name: 'materialized' })).toEqual([
      { ...x, notNull: false },
      y,
    ])
    expect(await engine.describe({ schema: 'public', name: 'parted' })).toEqual([x])
    expect(await engine.describe({ schema: 'public', name: 'parent' })).toEqual([{ ...x, notNull: false }])
    expect(await engine.describe({ schema: 'public', name: 'a "b"' })).toBeUndefined()
    expect(await engine.describe({ schema: "no'ne\\", name: 'viewed' })).toBeUndefined()
  })

  it('do not fit in domains, arrays and documents', () => {
    for (const type of [
      'public.positive',
      'integer[]',
      'jsonb',
      'interval',
      '"char"',
      'public.text',
      'citext',
      'bytea',
    ])
      for (const declared of [column.integer('v', 0n, 9n), column.string('v'), column.identifier('v')])
        expect(engine.fits(declared, { name: 'v', type, notNull: false })).toBe(false)
    expect(
      engine.fits(column.date('v', '2000-01-01', '2000-01-02'), { name: 'v', type: 'text', notNull: false }),
    ).toBe(false)
  })

  it.each([
    ['null', 7n],
    ['drop-row', 2n],
    ['refuse', 2n],
  ] as const)('return no text beyond the declared length, under the rule %s', async (kind, rows) => {
    await admin.query('DROP TABLE IF EXISTS notes; CREATE TABLE notes (v text)')
    await admin.query("INSERT INTO notes VALUES ('short'), ('äöüßé'), ('longer'), (repeat('x', 1000000))")
    await admin.query("INSERT INTO notes SELECT 'beyond' FROM generate_series(1, 3)")
    const nullable = kind === 'null'
    const declared: Column = {
      ...column.string('v', { nullable, invalidValue: { kind } }),
      selectable: { maxValues: 10, maxLength: 5 },
    }
    const table = await tableOf('notes', [declared])
    const { dataset } = table
    expect((await engine.inspect(table)).longestTexts).toEqual([1_000_000])
    engine.open(table)
    try {
      const bounding = { kind: 'one-row-each' } as const
      const { texts } = await engine.countTexts(dataset, { column: 'v', bounding })
      expect([...texts].sort()).toEqual(['short', 'äöüßé'])
      const counted = { groupBy: [], statistics: [{ kind: 'count' }], bounding } as const
      expect(await engine.aggregate(dataset, counted)).toEqual([[rows]])
    } finally {
      await engine.closeDataset(dataset)
    }
  })

  it('are refused to roles that may change them, unless the connection accepts that', async () => {
    await admin.query(`CREATE TABLE kept (x integer); CREATE ROLE reads LOGIN; CREATE ROLE writes LOGIN;
      GRANT SELECT ON kept TO reads, writes; GRANT UPDATE (x) ON kept TO writes`)
    const as = async (user: string, allowWritableRole: boolean) => {
      const own = openPostgresTables(connectionOf(url, { user, allowWritableRole }))
      try {
        return await own.refusal?.({ schema: 'public', name: 'kept' })
      } finally {
        await own.close()
      }
    }
    expect(await as('reads', false)).toBeUndefined()
    expect(await as('writes', false)).toContain('"allowWritableRole": true')
    expect(await as('postgres', false)).toContain('superuser')
    expect(await as('writes', true)).toBeUndefined()

    // The operator is told once.
    let told = 0
    const accepting = openPostgresTables(connectionOf(url, { user: 'writes' }), () => {
      told += 1
    })
    await admin.query('CREATE VIEW shown AS SELECT x FROM kept; GRANT SELECT ON shown TO writes')
    expect(await accepting.refusal?.({ schema: 'public', name: 'shown' })).toBeUndefined()
    expect(told).toBe(0)
    for (const _ of [1, 2])
      expect(await accepting.refusal?.({ schema: 'public', name: 'kept' })).toBeUndefined()
    expect(told).toBe(1)
    await accepting.close()
    await admin.query('DROP OWNED BY reads, writes; DROP ROLE reads; DROP ROLE writes')
  })

  it('have only the columns that the role may read, and the rows that policies show it', async () => {
    await admin.query(`CREATE TABLE guarded (x integer, secret integer); INSERT INTO guarded SELECT i, i FROM generate_series(1, 9) i;
      CREATE ROLE guest LOGIN; GRANT SELECT (x) ON guarded TO guest;
      ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; CREATE POLICY small ON guarded FOR SELECT USING (x < 4)`)
    const guest = openPostgresTables(connectionOf(url, { user: 'guest', allowWritableRole: false }))
    try {
      const x = { name: 'x', type: 'integer', notNull: false }
      expect(await guest.describe({ schema: 'public', name: 'guarded' })).toEqual([x])
      const dataset = datasetOf([column.integer('x', 0n, 100n)], 'guarded')
      const table: TableDataset = {
        dataset,
        table: { schema: 'public', name: 'guarded' },
        columns: [x],
        unit: { kind: 'row' },
      }
      expect(await guest.inspect(table)).toMatchObject({ rowsRead: 3, rowsStored: 3 })
    } finally {
      await guest.close()
      await admin.query('DROP OWNED BY guest; DROP ROLE guest')
    }
  })

  it.each([
    ['a column is gone', 'DROP COLUMN x', [{ change: 'missing', column: 'x' }]],
    ['a column has another name', 'RENAME x TO z', [{ change: 'missing', column: 'x' }]],
    [
      'a column has another type',
      'ALTER x TYPE bigint',
      [{ change: 'type', column: 'x', registered: 'integer', present: 'bigint' }],
    ],
    [
      'a type has another precision',
      'ALTER "Y z" TYPE numeric(12,4)',
      [{ change: 'type', column: 'Y z', registered: 'numeric(10,2)', present: 'numeric(12,4)' }],
    ],
    ['a column may be NULL', 'ALTER x DROP NOT NULL', [{ change: 'nullable', column: 'x' }]],
    ['a column can no longer be NULL', 'ALTER "Y z" SET NOT NULL', [{ change: 'not-null', column: 'Y z' }]],
    [
      'a column has another type and may be NULL',
      'ALTER x TYPE smallint, ALTER x DROP NOT NULL',
      [
        { change: 'type', column: 'x', registered: 'integer', present: 'smallint' },
        { change: 'nullable', column: 'x' },
      ],
    ],
    ['a column that is not declared changes', 'DROP COLUMN other, ADD COLUMN more text', []],
  ])('are not queried once %s, and the change is known', async (_, change, changes) => {
    await admin.query(`DROP TABLE IF EXISTS changing;
      CREATE TABLE changing (x integer NOT NULL, "Y z" numeric(10,2), other text)`)
    const declared = [column.integer('x', 0n, 9n), column.number('Y z', 1_000_000_000n, 0n, 9n)]
    const table = await tableOf('changing', declared)
    engine.open(table)
    try {
      const counted = {
        groupBy: [],
        statistics: [{ kind: 'count' }],
        bounding: { kind: 'one-row-each' },
      } as const
      expect(await engine.aggregate(table.dataset, counted)).toEqual([[0n]])
      await admin.query(`ALTER TABLE changing ${change}`)
      const present = (await engine.describe({ schema: 'public', name: 'changing' })) ?? []
      expect(findColumnChanges(table.columns, present)).toEqual(changes)
      const answer = engine.aggregate(table.dataset, counted)
      if (changes.length === 0) expect(await answer).toEqual([[0n]])
      else await expect(answer).rejects.toMatchObject({ name: 'TableChanged' })
    } finally {
      await engine.closeDataset(table.dataset)
    }
  })

  it.each([
    ['a table', 'altered', ''],
    ['a view of it', 'altered_view', 'CREATE VIEW altered_view AS SELECT id, x FROM altered'],
  ])('are read as they are once a concurrent rewrite has been committed: %s', async (_, name, prepare) => {
    await admin.query(`DROP TABLE IF EXISTS altered CASCADE; CREATE TABLE altered (id text, x integer);
      INSERT INTO altered SELECT i, i % 10 FROM generate_series(1, 100) i; ${prepare}`)
    const table = await tableOf(name, [column.identifier('id'), column.integer('x', 0n, 9n)])
    await withClient(url, async (other) => {
      // Rows that are rewritten in their old type are invisible to a snapshot from before.
      await other.query('BEGIN; LOCK TABLE altered; ALTER TABLE altered SET UNLOGGED')
      const inspected = engine.inspect(table)
      const values = stored(name, column.integer('x', 0n, 9n))
      await waitingForLocks(2)
      await other.query('COMMIT')
      expect(await inspected).toMatchObject({ rowsRead: 100, rowsStored: 100 })
      expect(await values).toHaveLength(100)
    })
  })

  it('are not read if a concurrent change of a column has been committed', async () => {
    await admin.query(`CREATE TABLE widened (x integer); INSERT INTO widened SELECT generate_series(1, 9)`)
    const table = await tableOf('widened', [column.integer('x', 0n, 9n)])
    await withClient(url, async (other) => {
      await other.query('BEGIN; ALTER TABLE widened ALTER x TYPE bigint')
      const refused = expect(engine.inspect(table)).rejects.toMatchObject({ name: 'TableChanged' })
      await waitingForLocks(1)
      await other.query('COMMIT')
      await refused
    })
  })

  it('are read in one snapshot by a role that may read some columns only', async () => {
    await admin.query(`CREATE TABLE partial (x integer, secret text); INSERT INTO partial SELECT generate_series(1, 9);
      CREATE MATERIALIZED VIEW frozen AS SELECT x FROM partial;
      CREATE ROLE few LOGIN; GRANT SELECT (x) ON partial TO few; GRANT SELECT ON frozen TO few`)
    const few = openPostgresTables(connectionOf(url, { user: 'few', allowWritableRole: false }))
    try {
      for (const name of ['partial', 'frozen']) {
        const table = await tableOf(name, [column.integer('x', 0n, 9n)])
        expect(await few.inspect(table)).toMatchObject({ rowsRead: 9 })
      }
    } finally {
      await few.close()
      await admin.query('DROP OWNED BY few; DROP ROLE few')
    }
  })

  it('of people leave out texts that are too long to be joined with others', async () => {
    await admin.query(`CREATE TABLE long (id text, note text, remark text);
      INSERT INTO long VALUES ('a', repeat('ä', 65536), 'x'), ('b', repeat('ä', 65537), 'x'), ('c', 'x', repeat('y', 65537)),
        (repeat('d', 65536), 'x', 'x'), (repeat('e', 65537), 'x', 'x')`)
    const declared = [
      column.identifier('id', 'drop-row'),
      column.string('note'),
      { ...column.string('remark'), invalidValue: { kind: 'drop-row' } } as const,
    ]
    const unit = { kind: 'person', column: 'id', maxRows: 2 } as const
    const given = await tableOf('long', declared)
    const dataset: Dataset = { ...given.dataset, privacyUnit: unit }
    const table: TableDataset = { ...given, dataset, unit: { ...unit, key: 'ab'.repeat(32) } }
    expect(await engine.inspect(table)).toMatchObject({ rowsRead: 5, rowsStored: 3, people: 3 })
    engine.open(table)
    const isMissing = { kind: 'is-null', column: 'note' } as const
    const counting = {
      groupBy: [],
      bounding: { kind: 'rows', rows: 2 },
      statistics: [{ kind: 'count' }, { kind: 'count-people', where: isMissing }],
    } as const
    expect(await engine.aggregate(dataset, counting)).toEqual([[3n], [1n]])
  })

  it('are not queried once the role may no longer read a column, or the table is gone', async () => {
    await admin.query(`CREATE TABLE granted (x integer NOT NULL, y integer); CREATE ROLE reader LOGIN;
      GRANT SELECT ON granted TO reader`)
    const reader = openPostgresTables(connectionOf(url, { user: 'reader', allowWritableRole: false }))
    const x = { name: 'x', type: 'integer', notNull: true }
    const dataset = datasetOf([column.integer('x', 0n, 9n)], 'granted')
    const name = { schema: 'public', name: 'granted' }
    const counted = {
      groupBy: [],
      statistics: [{ kind: 'count' }],
      bounding: { kind: 'one-row-each' },
    } as const
    try {
      reader.open({ dataset, table: name, columns: [x], unit: { kind: 'row' } })
      expect(await reader.aggregate(dataset, counted)).toEqual([[0n]])
      await admin.query('REVOKE SELECT ON granted FROM reader; GRANT SELECT (y) ON granted TO reader')
      expect(findColumnChanges([x], (await reader.describe(name)) ?? [])).toEqual([
        { change: 'missing', column: 'x' },
      ])
      await expect(reader.aggregate(dataset, counted)).rejects.toMatchObject({ name: 'TableChanged' })
      await admin.query('DROP TABLE granted')
      expect(await reader.describe(name)).toBeUndefined()
      await expect(reader.aggregate(dataset, counted)).rejects.toMatchObject({ name: 'TableChanged' })
    } finally {
      await reader.close()
      await admin.query('DROP OWNED BY reader; DROP ROLE reader')
    }
  })
})
