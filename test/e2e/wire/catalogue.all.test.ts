import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { Client, type QueryConfig } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { must } from '../../../src/privacy/must.ts'
import { installed } from '../../installed.ts'
import { describeOwnPostgres } from '../../servers/postgres.ts'
import { testService } from '../service.ts'

/*
 * What tools and drivers send to begin a session and to read the catalogue: statements in words of our own with the settings,
 * relations, columns, functions, operators and casts of theirs. The first comment of a file names the source that it was checked
 * against. A file is a tool, and a paragraph is one text. The values of its parameters follow `$` in the comment before it. `:census` is the OID of
 * the table.
 */
const folder = path.join(import.meta.dirname, 'statements')

interface Sent {
  readonly text: string
  readonly values: (string | number)[]
}

function sentBy(file: string, oid: number): readonly Sent[] {
  const paragraphs = readFileSync(path.join(folder, file), 'utf8').trim().split('\n\n')
  return paragraphs.map((paragraph) => {
    const [, values = '[]'] = /^-- [^\n]* \$ (.*)$/m.exec(paragraph) ?? []
    const text = paragraph.replace(/^-- .*\n/, '').replaceAll(':census', String(oid))
    return { text, values: JSON.parse(values.replaceAll('":census"', String(oid))) }
  })
}

const isOne = (text: string) => !/;\s*\S/.test(text)

const service = testService({ SOTTO_DEMO: 'true', SOTTO_PG_PORT: '0' })
let client: Client

/** A table of every type, as it is registered and as PostgreSQL has it. */
const SHAPES = [
  [{ name: 'person', type: 'identifier' }, 'text'],
  [{ name: 'Mixed Case', type: 'integer', lower: 0, upper: 120 }, 'bigint'],
  [{ name: 'height', type: 'number', lower: 0, upper: 3, step: 0.01, unit: 'm' }, 'double precision'],
  [{ name: 'order', type: 'category', categories: ["O'Hara", 'b'] }, 'text'],
  [{ name: 'member', type: 'boolean' }, 'boolean'],
  [{ name: 'day', type: 'date', lower: '2024-01-01', upper: '2024-12-31' }, 'date'],
  [
    { name: 'at', type: 'timestamp', lower: '2024-01-01T00:00:00Z', upper: '2024-12-31T00:00:00Z' },
    'timestamptz',
  ],
  [{ name: 'note', type: 'string' }, 'text'],
] as const

const isNullable = (place: number) => place % 2 === 0 && place > 0

const DEFINITIONS = {
  shapes: SHAPES.map(
    ([{ name }, type], place) => `"${name}" ${type}${isNullable(place) ? '' : ' NOT NULL'}`,
  ).join(', '),
  census: `"Sex" text NOT NULL, "Age" bigint NOT NULL, "Married" text NOT NULL, "Earnings" bigint NOT NULL, "Occupation" text NOT NULL`,
}

beforeAll(async () => {
  const row = (i: number) => `p${i},${i % 90},1.5,b,true,2024-02-0${1 + (i % 9)},2024-02-01T00:00:00Z,hi`
  const csv = [SHAPES.map(([{ name }]) => name).join(), ...Array.from({ length: 60 }, (_, i) => row(i))]
  const { body: upload } = await service
    .as('custodian')
    .post('/v1/sources')
    .attach('file', Buffer.from(csv.join('\n')), 'shapes.csv')
    .expect(201)
  await service
    .register({
      ...{ id: 'shapes', title: 'All types', source: { kind: 'upload', upload: upload.id, format: 'csv' } },
      columns: SHAPES.map(([column], place) => ({ ...column, nullable: isNullable(place) })),
      ...{ privacyUnit: { kind: 'person', column: 'person', maxRows: 1 }, neighbours: 'add-remove' },
      budget: { epsilon: 10, delta: 0 },
    })
    .expect(201)
  client = new Client({
    ...{ host: '127.0.0.1', port: must(service.pgPort, 'the port'), user: 'analyst', database: 'sotto' },
    password: service.keyOf('analyst'),
  })
  await client.connect()
})
afterAll(() => client.end())

async function oidOf(table: string, of: Client): Promise<number> {
  const { rows } = await of.query(`SELECT '${table}'::regclass::oid AS oid`)
  return rows[0].oid
}

/** Returns the error of a text, or undefined. */
async function errorOf(config: QueryConfig & { readonly queryMode?: string }): Promise<string | undefined> {
  try {
    await client.query(config)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe.each(readdirSync(folder))('the statements of %s', (file) => {
  test('are answered', async () => {
    const failures: (readonly [string, string])[] = []
    for (const { text, values } of sentBy(file, await oidOf('census', client))) {
      const ways = [
        ...(values.length === 0 ? [{ text }] : []),
        ...(isOne(text) ? [{ text, values, queryMode: 'extended' }] : []),
      ]
      for (const way of ways) {
        const error = await errorOf(way)
        if (error !== undefined) failures.push([text, error])
      }
    }
    expect(failures).toEqual([])
  })
})

interface Found {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const TEXTS = { getTypeParser: () => (text: string) => text }

/** Rows as text, without those of the columns that differ. OIDs of tables are replaced by their names. */
async function find(of: Client, { text, values }: Sent, except: readonly string[] = []): Promise<Found> {
  const result = await of.query({ text, values, rowMode: 'array', types: TEXTS as never })
  const last = Array.isArray(result) ? result.at(-1) : result
  const columns: string[] = last.fields.map(({ name }: { readonly name: string }) => name)
  const names = new Map<string, string>()
  for (const table of Object.keys(DEFINITIONS)) names.set(String(await oidOf(table, of)), table)
  const rows = last.rows.map((row: readonly string[]) =>
    row
      .filter((_, place) => !except.includes(columns[place] ?? ''))
      .map((value) => names.get(value) ?? value),
  )
  return { columns, rows }
}

/** Statements whose rows PostgreSQL has too, and the columns that differ. */
const SAME_ROWS: readonly (readonly [sql: string, ...except: readonly string[]])[] = [
  [
    `SELECT * FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position`,
    // Datasets cannot be changed.
    'is_updatable',
  ],
  [
    `SELECT * FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name`,
    'is_insertable_into',
  ],
  [
    `SELECT * FROM pg_attribute WHERE attrelid IN ('shapes'::regclass, 'census'::regclass) AND attnum > 0 ORDER BY attrelid::regclass::text, attnum`,
    // That of PostgreSQL's rows names a user.
    'attacl',
  ],
  [
    `SELECT * FROM pg_class WHERE oid = 'public.shapes'::regclass`,
    // Facts of files, of which there are none, and rights.
    ...['reltype', 'relowner', 'relfilenode', 'reltoastrelid', 'relfrozenxid', 'relminmxid', 'relacl'],
  ],
  [`SELECT * FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`],
  [
    `SELECT * FROM pg_type WHERE oid IN (SELECT atttypid FROM pg_attribute WHERE attrelid = 'shapes'::regclass AND attnum > 0) ORDER BY oid`,
    // Functions are shown as numbers.
    ...['typinput', 'typoutput', 'typreceive', 'typsend', 'typmodin', 'typmodout', 'typanalyze'],
    'typsubscript',
  ],
  [
    `SELECT t.oid, t.typname, t.typlen, t.typbyval, t.typtype, t.typcategory, t.typispreferred, t.typdelim, t.typelem, t.typarray, t.typcollation,
     t.typalign, t.typstorage, format_type(t.oid, NULL), i.proname, o.proname, r.proname, s.proname
     FROM pg_type t JOIN pg_proc i ON i.oid = t.typinput JOIN pg_proc o ON o.oid = t.typoutput
     JOIN pg_proc r ON r.oid = t.typreceive JOIN pg_proc s ON s.oid = t.typsend
     WHERE t.oid IN (16, 17, 18, 19, 20, 21, 22, 23, 25, 26, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950, 114, 3802, 1000, 1003, 1009, 1016, 1182, 1185)
     ORDER BY t.oid`,
  ],
  [
    `SELECT attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum) FROM pg_attribute
     WHERE attrelid = 'public.shapes'::regclass AND attnum > 0 ORDER BY attnum`,
  ],
  [
    `SELECT obj_description('shapes'::regclass, 'pg_class'), format_type(0, NULL), format_type(NULL, 1), format_type(999999, NULL)`,
  ],
  [
    `SELECT table_schema, table_name, privilege_type, is_grantable, with_hierarchy FROM information_schema.table_privileges
     WHERE grantee = 'PUBLIC' AND table_schema = 'public' ORDER BY 2`,
  ],
  [
    `SELECT grantor, grantee, table_name, column_name, privilege_type, is_grantable FROM information_schema.column_privileges
     WHERE table_schema = 'public' ORDER BY table_name, column_name`,
  ],
  [
    `SELECT 'public.shapes'::regclass::text, 23::regtype::text, 'int4'::regtype::text, 'integer[]'::regtype::oid, to_regclass('nope'), 'pg_class'::regclass::oid,
     'shapes'::regclass::oid, (SELECT relname FROM pg_class WHERE oid = 'shapes'::regclass)`,
  ],
  [
    `SELECT current_database(), current_schema(), current_schemas(true), current_schemas(false), session_user, quote_ident('a b'), quote_ident('order'),
     quote_ident('plain'), quote_literal('a''b'), string_to_array('a,b', ','), ARRAY['a b', '', NULL, 'null', 'x"y']`,
  ],
  [
    `SELECT has_table_privilege('shapes', 'select'), has_table_privilege('shapes', 'insert'), has_schema_privilege('public', 'usage'),
     has_database_privilege(current_database(), 'connect'), has_any_column_privilege('census', 'update')`,
  ],
  [
    `SELECT parse_ident('Public."Mixed Case"'), array_length(parse_ident('a.b'), 1), nullif(1, 2), greatest(1, 2), CASE WHEN true THEN 1 ELSE 2 END, 1::int::text`,
  ],
  [
    `SELECT nspname, pg_table_is_visible(c.oid), relkind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'public' ORDER BY relname`,
  ],
  [
    `SELECT rolname, rolsuper, rolcanlogin, usename, usesuper FROM pg_roles JOIN pg_user ON usesysid = pg_roles.oid WHERE rolname = current_user`,
  ],
  // Tools hide databases with smaller OIDs as PostgreSQL's own.
  [
    `SELECT datname, pg_encoding_to_char(encoding), pg_get_userbyid(datdba) FROM pg_database WHERE oid > 16383 AND datname = current_database()`,
  ],
  [
    `SELECT (d).privilege_type, (d).is_grantable, (SELECT count(*) FROM (SELECT aclexplode(attacl) FROM pg_attribute WHERE attrelid = 'shapes'::regclass) AS none)
     FROM (SELECT aclexplode(relacl) AS d FROM pg_class WHERE oid = 'shapes'::regclass) AS a WHERE (d).grantee = 0`,
  ],
  [
    `SELECT substring('fill=10' FROM 'fill=([0-9]*)'), substring('abc' FROM 'b'), substring('abc' FROM 'x'), 'a' = ANY('{a,b}'), k.catcode, extract(day FROM interval '1 day'),
     to_char('2024-02-03 04:05:06'::timestamp, 'YYYY-MM-DD HH24:MI:SS'), at.attname FROM pg_get_keywords() AS k, pg_attribute at JOIN pg_class show ON show.oid = at.attrelid
     WHERE k.word = 'select' AND show.oid = 'census'::regclass AND at.attnum = 2`,
  ],
  // What results refer to is shown by its name, as in PostgreSQL's text. ADBC finds types by the names of their functions.
  [
    `SELECT typreceive, t.typinput, typsend::text, 'shapes'::regclass, 23::regtype, 'public'::regnamespace, 0::regclass, 999999::regclass FROM pg_catalog.pg_type t
     WHERE typreceive != 0 AND typreceive::TEXT != 'array_recv' AND oid IN (20, 25, 701, 1184, 1007) ORDER BY oid`,
  ],
  [`SELECT word, catcode FROM pg_get_keywords() WHERE catcode <> 'U' ORDER BY word`],
]

const DESCRIBED = [
  ...[
    '\\d',
    '\\dt',
    '\\d shapes',
    '\\d+ shapes',
    '\\d+ census',
    '\\d public.*',
    '\\dv',
    '\\di',
    '\\ds',
    '\\dm',
  ],
  ...[
    '\\dE',
    '\\dT',
    '\\df',
    '\\da',
    '\\dD',
    '\\dd',
    '\\dc',
    '\\des',
    '\\dew',
    '\\det',
    '\\deu',
    '\\dRp',
    '\\dy',
  ],
  ...['\\dP', '\\dX', '\\do nope', '\\ddp', '\\dti', '\\encoding'],
]

const inner = promisify(execFile)
const psql = async (url: string) => {
  const { stdout } = await inner('psql', ['-X', url, ...DESCRIBED.flatMap((each) => ['-c', each])])
  return stdout
}

// A server of its own: the names of its roles are compared.
describeOwnPostgres('PostgreSQL with tables of the same shape', {}, (own) => {
  let real: Client
  let url: URL

  beforeAll(async () => {
    url = new URL(own.server.url('sotto'))
    const admin = new Client({ connectionString: own.server.url('postgres') })
    await admin.connect()
    await admin.query('CREATE ROLE sotto')
    await admin.query('CREATE ROLE analyst LOGIN')
    await admin.query('CREATE DATABASE sotto OWNER sotto')
    await admin.end()
    const owner = new Client({ connectionString: url.href })
    await owner.connect()
    for (const [table, columns] of Object.entries(DEFINITIONS)) {
      await owner.query(`CREATE TABLE ${table} (${columns})`)
      await owner.query(`ALTER TABLE ${table} OWNER TO sotto`)
      await owner.query(`GRANT SELECT ON ${table} TO PUBLIC`)
      const { rows } = await client.query(
        `SELECT attname, description FROM pg_description LEFT JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid WHERE objoid = '${table}'::regclass`,
      )
      for (const { attname: column, description } of rows)
        await owner.query(
          `COMMENT ON ${column === null ? `TABLE ${table}` : `COLUMN ${table}."${column}"`} IS ${owner.escapeLiteral(description)}`,
        )
    }
    await owner.end()
    url.username = 'analyst'
    real = new Client({ connectionString: url.href })
    await real.connect()
  })
  afterAll(() => real.end())

  test.each(SAME_ROWS)('has the same rows: %s', async (text, ...except) => {
    const sent = { text, values: [] }
    expect(await find(client, sent, except)).toEqual(await find(real, sent, except))
  })

  test.skipIf(!installed('psql'))('is described by psql in the same words', async () => {
    const own = new URL(`postgres://analyst@127.0.0.1:${service.pgPort}/sotto`)
    own.password = service.keyOf('analyst')
    expect(await psql(own.href)).toBe(await psql(url.href))
  })

  test.each(readdirSync(folder))(
    'takes the statements of %s too, and names the columns alike',
    async (file) => {
      const [ours, theirs] = [client, real].map(async (of) => {
        const found: (readonly [string, readonly string[]])[] = []
        for (const { text, values } of sentBy(file, await oidOf('census', of)))
          if (isOne(text)) found.push([text.slice(0, 60), (await find(of, { text, values })).columns])
        return found
      })
      expect(await ours).toEqual(await theirs)
    },
  )
})
