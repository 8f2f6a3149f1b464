import { crc32 } from 'node:zlib'
import { type DerivedFacts, derivedFacts } from '../../core/dataset/derived-facts.ts'
import type { CatalogEntry } from '../../core/dataset/entry.ts'
import { entry, must } from '../../privacy/must.ts'
import { createSettings } from '../session/settings.ts'
import { OID, SQL_NAMES, typeOfCompared } from '../values/oids.ts'
import { cursorList } from './evaluator.ts'
import {
  DATABASE,
  DECLARED_VALUES,
  DUMMY_DATABASE,
  OID_OF_PG_CLASS,
  OID_OF_PRINCIPAL,
  SCHEMAS,
} from './names.ts'
import { RELATIONS, TYPES } from './postgres-relations.ts'

type Value = string | number | boolean | null
type Row = Readonly<Record<string, Value>>
type SchemaName = Exclude<keyof typeof SCHEMAS, 'public'>

const OWNER = 10
const NAMESPACES = { pg_catalog: 11, public: 2_200, information_schema: 13_000 } as const
/** OIDs from here on belong to what is no part of the server: databases and datasets. pgAdmin hides those below. */
const FIRST_OWN_OID = 16_384
const FIRST_FUNCTION_OID = 900_000
const HEAP = 2
const TABLESPACE = 1_663

const ROLE = `rolname 'sotto', rolsuper false, rolinherit true, rolcreaterole false, rolcreatedb false, rolcanlogin false, rolreplication false, rolbypassrls false, rolconnlimit -1`

/** What columns have in all rows of the service: a line for each relation, with columns and values in SQL. */
const CONSTANTS = `
pg_namespace: nspowner ${OWNER}
pg_database: datdba ${OWNER}, encoding 6, datcollate 'C', datctype 'C', datistemplate false, datallowconn true, datconnlimit -1, dattablespace ${TABLESPACE}, datlocprovider 'c'
pg_roles: ${ROLE}
pg_authid: ${ROLE}
pg_user: usename 'sotto', usecreatedb false, usesuper false
pg_am: amname 'heap', amtype 't'
pg_tablespace: spcname 'pg_default', spcowner ${OWNER}
pg_collation: collnamespace ${NAMESPACES.pg_catalog}
pg_timezone_names: abbrev 'UTC', is_dst false
pg_settings: vartype 'string'
pg_proc: pronamespace ${NAMESPACES.pg_catalog}, proowner ${OWNER}, prokind 'f'
pg_type: typnamespace ${NAMESPACES.pg_catalog}, typowner ${OWNER}, typisdefined true, typrelid 0, typmodin 0, typmodout 0, typanalyze 0, typsubscript 0, typnotnull false, typbasetype 0, typtypmod -1, typndims 0
pg_class: relowner ${OWNER}, relam ${HEAP}, reltablespace 0, relpages 0, reltuples -1, relhasindex false, relisshared false, relpersistence 'p', relchecks 0, relhasrules false, relhastriggers false, relhassubclass false, relrowsecurity false, relforcerowsecurity false, relispopulated true, relreplident 'd', relispartition false, reltoastrelid 0, reltype 0, reloftype 0, relfilenode 0, relallvisible 0, relrewrite 0
pg_tables: schemaname 'public', tableowner 'sotto', hasindexes false, hasrules false, hastriggers false, rowsecurity false
pg_attribute: attndims 0, attcacheoff -1, atttypmod -1, atthasdef false, atthasmissing false, attidentity '', attgenerated '', attisdropped false, attislocal true, attinhcount 0, attstattarget -1, attcompression ''
pg_description: classoid ${OID_OF_PG_CLASS}
schemata: catalog_name '${DATABASE}', schema_owner 'sotto'
tables: table_catalog '${DATABASE}', table_schema 'public', table_type 'BASE TABLE', is_insertable_into 'NO', is_typed 'NO'
table_privileges: table_catalog '${DATABASE}', table_schema 'public', grantor 'sotto', grantee 'PUBLIC', privilege_type 'SELECT', is_grantable 'NO', with_hierarchy 'YES'
column_privileges: table_catalog '${DATABASE}', table_schema 'public', grantor 'sotto', grantee 'PUBLIC', privilege_type 'SELECT', is_grantable 'NO'
columns: table_catalog '${DATABASE}', table_schema 'public', udt_catalog '${DATABASE}', udt_schema 'pg_catalog', is_self_referencing 'NO', identity_cycle 'NO', is_identity 'NO', is_generated 'NEVER', is_updatable 'NO'
`

/** The values in {@link CONSTANTS}, by `relation.column`. */
const DEFAULTS: ReadonlyMap<string, string> = new Map(
  linesOf(CONSTANTS).flatMap((line) => {
    const [relation, columns = ''] = line.split(': ')
    return columns.split(', ').map((column) => {
      const [name, ...value] = column.split(' ')
      return [`${relation}.${name}`, value.join(' ')] as const
    })
  }),
)

/** Writes the statements that create the catalogue over the declarations of datasets. No row of it depends on data. */
export function catalogueStatements(entries: readonly CatalogEntry[]): readonly string[] {
  const relations = linesOf(RELATIONS).map(readRelation)
  const oids = oidsOf(entries)
  return [
    ...Object.values(SCHEMAS).map((schema) => `CREATE SCHEMA ${schema}`),
    `SET VARIABLE cursors = ${cursorList([])}`,
    ...relations.map(({ schema, name, columns }) =>
      name === 'pg_cursors'
        ? `CREATE VIEW ${SCHEMAS[schema]}.${name} AS SELECT unnest(getvariable('cursors'), recursive := true)`
        : `CREATE TABLE ${SCHEMAS[schema]}.${name} ` +
          `(${columns.map(([column, type]) => `"${column}" ${typeIn(type)} DEFAULT ${DEFAULTS.get(`${name}.${column}`) ?? 'NULL'}`).join(', ')})`,
    ),
    `CREATE TABLE ${SCHEMAS.pg_catalog}.${DECLARED_VALUES} (relation VARCHAR, attribute VARCHAR, value VARCHAR)`,
    ...serverFacts(relations),
    ...entries.flatMap((entry) =>
      tableFacts(entry, must(oids.get(entry.dataset.id), 'the OID of a dataset')),
    ),
  ]
}

interface Relation {
  readonly schema: SchemaName
  readonly name: string
  readonly oid: number
  readonly kind: string
  readonly columns: readonly (readonly [name: string, type: string])[]
}

function linesOf(text: string): readonly string[] {
  return text.trim().split('\n')
}

function readRelation(line: string): Relation {
  const [, schema, name, oid, kind, columns] = must(
    /^(\w+)\.(\w+) (\d+) (\w): (.*)$/.exec(line) ?? undefined,
    'a relation of PostgreSQL',
  )
  const pairs = must(columns, 'its columns').split(', ')
  return {
    schema: schema as SchemaName,
    name: must(name, 'its name'),
    oid: Number(oid),
    kind: must(kind, 'its kind'),
    columns: pairs.map((pair) => pair.split(' ') as unknown as readonly [string, string]),
  }
}

const EVALUATED: Readonly<Record<string, string>> = {
  ...{ bool: 'BOOLEAN', int2: 'SMALLINT', int4: 'INTEGER', int8: 'BIGINT' },
  ...{ float4: 'FLOAT', float8: 'DOUBLE', timestamptz: 'TIMESTAMP', interval: 'INTERVAL', date: 'DATE' },
  ...{ oid: 'UINTEGER', xid: 'UINTEGER', regtype: 'UINTEGER', regproc: 'UINTEGER' },
  ...{ int2vector: 'SMALLINT[]', _int2: 'SMALLINT[]', oidvector: 'UINTEGER[]', _oid: 'UINTEGER[]' },
  ...{ _text: 'VARCHAR[]', _name: 'VARCHAR[]', _char: 'VARCHAR[]', _aclitem: 'VARCHAR[]' },
  ...{ _float4: 'FLOAT[]', _float8: 'DOUBLE[]', _bool: 'BOOLEAN[]' },
}

/** The evaluator's type for a type of PostgreSQL. */
function typeIn(type: string): string {
  return EVALUATED[type] ?? 'VARCHAR'
}

/**
 * Writes the statement that creates the table of a dataset. It has no rows: statements are described by it. The evaluator tells
 * no names apart that differ in their case only, and has no table with such columns.
 */
function emptyTable(
  id: string,
  columns: readonly {
    readonly column: { readonly name: string }
    readonly type: { readonly typname: string }
  }[],
): string[] {
  const names = new Set(columns.map(({ column }) => column.name.toLowerCase()))
  if (names.size < columns.length) return []
  const written = columns.map(
    ({ column, type }) => `"${column.name.replaceAll('"', '""')}" ${typeIn(type.typname)}`,
  )
  return [`CREATE TABLE ${SCHEMAS.public}."${id}" (${written.join(', ')})`]
}

/** OIDs that stay the same while others are registered, so that tools can remember them. */
function oidsOf(entries: readonly CatalogEntry[]): ReadonlyMap<string, number> {
  const oids = new Map<string, number>()
  const taken = new Set([FIRST_OWN_OID, FIRST_OWN_OID + 1])
  for (const { dataset } of entries) {
    let oid = FIRST_OWN_OID + (crc32(dataset.id) % 2 ** 29)
    while (taken.has(oid)) oid += 1
    taken.add(oid)
    oids.set(dataset.id, oid)
  }
  return oids
}

function literal(value: Value | undefined): string {
  if (value === undefined) return 'DEFAULT'
  if (value === null) return 'NULL'
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

/** Writes the statement that adds rows to a relation. */
function insert(relation: string, rows: readonly Row[], schema: SchemaName = 'pg_catalog'): string[] {
  if (rows.length === 0) return []
  const columns = [...new Set(rows.flatMap(Object.keys))]
  const values = rows.map((row) => `(${columns.map((column) => literal(row[column])).join(', ')})`)
  const names = columns.map((column) => `"${column}"`).join(', ')
  return [`INSERT INTO ${SCHEMAS[schema]}.${relation} (${names}) VALUES ${values.join(', ')}`]
}

/** What every database of the service has. */
function serverFacts(relations: readonly Relation[]): readonly string[] {
  const settings = createSettings({ name: '' }).all()
  return [
    ...insert(
      'pg_namespace',
      Object.entries(NAMESPACES).map(([nspname, oid]) => ({ oid, nspname })),
    ),
    ...insert(
      'pg_database',
      [DATABASE, DUMMY_DATABASE].map((datname, index) => ({ oid: FIRST_OWN_OID + index, datname })),
    ),
    ...insert('pg_roles', [{ oid: OWNER }]),
    ...insert('pg_authid', [{ oid: OWNER }]),
    ...insert('pg_user', [{ usesysid: OWNER }]),
    ...withPrincipal('pg_roles', 'rolname', 'oid', 'true AS rolcanlogin'),
    ...withPrincipal('pg_user', 'usename', 'usesysid'),
    ...insert('pg_am', [{ oid: HEAP }]),
    ...insert('pg_tablespace', [{ oid: TABLESPACE }]),
    ...insert('pg_collation', [
      { oid: 100, collname: 'default' },
      { oid: 950, collname: 'C' },
    ]),
    ...insert('pg_timezone_names', [{ name: 'UTC' }]),
    ...insert(
      'pg_settings',
      settings.map(([name, setting]) => ({ name, setting, reset_val: setting, boot_val: setting })),
    ),
    ...typeFacts(),
    ...insert(
      'pg_class',
      relations.map(({ schema, name, oid, kind, columns }) => ({
        oid,
        relname: name,
        relnamespace: NAMESPACES[schema],
        relkind: kind,
        relnatts: columns.length,
      })),
    ),
    ...insert(
      'schemata',
      Object.keys(NAMESPACES).map((name) => ({ schema_name: name })),
      'information_schema',
    ),
  ]
}

/** Adds who asks to a relation of roles. Evaluators are shared, so that it is read from the session. */
function withPrincipal(relation: string, name: string, oid: string, ...others: readonly string[]) {
  const [all, owner] = [relation, `zz_${relation}`].map((each) => `${SCHEMAS.pg_catalog}.${each}`)
  const own = [
    `CAST(getvariable('principal') AS VARCHAR) AS ${name}`,
    `${OID_OF_PRINCIPAL} AS ${oid}`,
    ...others,
  ]
  return [
    `ALTER TABLE ${all} RENAME TO zz_${relation}`,
    `CREATE VIEW ${all} AS SELECT * FROM ${owner} UNION ALL SELECT * REPLACE (${own.join(', ')}) FROM ${owner}`,
  ]
}

const COLLATIONS: ReadonlyMap<string, number> = new Map([
  ['name', 950],
  ...['text', 'bpchar', 'varchar'].map((name) => [name, 100] as const),
])

/** The columns of pg_type in {@link TYPES}. */
const TYPE_COLUMNS = [
  ...(['oid', 'typname', 'typlen', 'typbyval', 'typtype', 'typcategory', 'typispreferred'] as const),
  ...(['typdelim', 'typelem', 'typarray', 'typinput', 'typreceive', 'typalign', 'typstorage'] as const),
]

/** The types of PostgreSQL, with names of functions in the place of their OIDs. */
const POSTGRES_TYPES = linesOf(TYPES).map((line) => {
  const values = line.split(' ')
  const facts = Object.fromEntries(TYPE_COLUMNS.map((column, place) => [column, entry(values, place)]))
  const type = facts as Readonly<Record<(typeof TYPE_COLUMNS)[number], string>>
  return { ...type, typcollation: COLLATIONS.get(type.typname.replace(/^_/, '')) ?? 0 }
})

function typeWith(oid: number) {
  return must(
    POSTGRES_TYPES.find((type) => type.oid === String(oid)),
    'a type',
  )
}

function typeFacts(): readonly string[] {
  const inverse = (name: string) => name.replace(/in$/, 'out').replace(/recv$/, 'send')
  const ofTypes = POSTGRES_TYPES.flatMap(({ typinput, typreceive }) => [typinput, typreceive])
  const functions = [...new Set(ofTypes.flatMap((name) => [name, inverse(name)]))]
  const oidOf = (name: string) => FIRST_FUNCTION_OID + functions.indexOf(name)
  return [
    ...insert(
      'pg_proc',
      functions.map((proname) => ({ oid: oidOf(proname), proname })),
    ),
    ...insert(
      'pg_type',
      POSTGRES_TYPES.map(({ typinput, typreceive, ...others }) => ({
        ...others,
        typinput: oidOf(typinput),
        typreceive: oidOf(typreceive),
        typoutput: oidOf(inverse(typinput)),
        typsend: oidOf(inverse(typreceive)),
      })),
    ),
  ]
}

/** What information_schema.columns says of columns of a type. */
const PRECISIONS: ReadonlyMap<number, Row> = new Map<number, Row>([
  [OID.int8, { numeric_precision: 64, numeric_precision_radix: 2, numeric_scale: 0 }],
  [OID.float8, { numeric_precision: 53, numeric_precision_radix: 2 }],
  [OID.text, { character_octet_length: 2 ** 30 }],
  [OID.timestamptz, { datetime_precision: 6 }],
  [OID.date, { datetime_precision: 0 }],
])

/** What the catalogue says of one dataset. */
function tableFacts({ declaration, dataset }: CatalogEntry, oid: number): readonly string[] {
  const { id, title } = dataset
  const stored = declaration.columns.map((column, index) => ({
    ...column,
    nullable: entry(dataset.columns, index).nullable,
  }))
  const columns = [...stored, ...(derivedFacts(declaration, dataset) ?? [])].map((column, index) => ({
    column,
    number: index + 1,
    type: typeWith(typeOfCompared(column.type)),
  }))
  return [
    ...emptyTable(id, columns),
    ...insert('pg_class', [
      {
        oid,
        relname: id,
        relnamespace: NAMESPACES.public,
        relkind: 'r',
        relnatts: columns.length,
        // Everybody who sees the dataset may read it, and nobody may do more.
        relacl: '[sotto=r/sotto, =r/sotto]',
      },
    ]),
    ...insert('pg_tables', [{ tablename: id }]),
    ...insert(
      'pg_attribute',
      columns.map(({ column, number, type }) => ({
        attrelid: oid,
        attname: column.name,
        atttypid: type.oid,
        attlen: type.typlen,
        attnum: number,
        attbyval: type.typbyval,
        attnotnull: !column.nullable,
        attcollation: type.typcollation,
        attstorage: type.typstorage,
        attalign: type.typalign,
      })),
    ),
    ...insert(
      DECLARED_VALUES,
      stored.flatMap((column) =>
        column.type === 'category'
          ? [...column.categories, ...(column.nullable ? [null] : [])].map((value) => ({
              relation: id,
              attribute: column.name,
              value,
            }))
          : [],
      ),
    ),
    ...insert('pg_description', [
      { objoid: oid, objsubid: 0, description: title },
      ...columns.map(({ column, number }) => ({
        objoid: oid,
        objsubid: number,
        description: commentOf(column),
      })),
    ]),
    ...insert('tables', [{ table_name: id }], 'information_schema'),
    ...insert('table_privileges', [{ table_name: id }], 'information_schema'),
    ...insert(
      'column_privileges',
      columns.map(({ column }) => ({ table_name: id, column_name: column.name })),
      'information_schema',
    ),
    ...insert(
      'columns',
      columns.map(({ column, number, type }) => ({
        table_name: id,
        column_name: column.name,
        ordinal_position: number,
        is_nullable: column.nullable ? 'YES' : 'NO',
        data_type: SQL_NAMES.get(Number(type.oid)) ?? type.typname,
        udt_name: type.typname,
        dtd_identifier: String(number),
        ...PRECISIONS.get(Number(type.oid)),
      })),
      'information_schema',
    ),
  ]
}

type DeclaredColumn = CatalogEntry['declaration']['columns'][number] | DerivedFacts

/** The comment of a column: its description, its expression and its public bounds. */
function commentOf(column: DeclaredColumn): string {
  const facts = boundsOf(column)
  const unit = 'unit' in column && column.unit !== undefined ? `in ${column.unit}` : undefined
  const { description, expression } = column as Partial<DerivedFacts>
  return [description, expression, facts, unit].filter((each) => each !== undefined).join('; ')
}

function boundsOf(column: DeclaredColumn): string {
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp':
      return `${column.type} from ${column.lower} to ${column.upper}${'step' in column ? `, step ${column.step}` : ''}`
    case 'category':
      return `one of ${column.categories.join(', ')}`
    case 'boolean':
      return 'boolean'
    case 'string':
      return 'free text'
    case 'identifier':
      return 'identifier: COUNT(DISTINCT ...) counts people, and no other question can use it'
  }
}
