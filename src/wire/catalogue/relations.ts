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
type SchemaName = keyof typeof SCHEMAS

const OWNER = 10
const NAMESPACES = { pg_catalog: 11, public: 2_200, information_schema: 13_000 } as const
/** OIDs from here on belong to what is no part of the server: databases and datasets. pgAdmin hides those below. */
const FIRST_OWN_OID = 16_384
const FIRST_FUNCTION_OID = 900_000
const HEAP = 2

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
          `(${columns.map(([column, type]) => `"${column}" ${typeIn(type)}`).join(', ')})`,
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
  ...{ float4: 'FLOAT', float8: 'DOUBLE', timestamptz: 'TIMESTAMP', interval: 'INTERVAL' },
  ...{ oid: 'UINTEGER', xid: 'UINTEGER', regtype: 'UINTEGER', regproc: 'UINTEGER' },
  ...{ int2vector: 'SMALLINT[]', _int2: 'SMALLINT[]', oidvector: 'UINTEGER[]', _oid: 'UINTEGER[]' },
  ...{ _text: 'VARCHAR[]', _name: 'VARCHAR[]', _char: 'VARCHAR[]', _aclitem: 'VARCHAR[]' },
  ...{ _float4: 'FLOAT[]', _float8: 'DOUBLE[]', _bool: 'BOOLEAN[]' },
}

/** The evaluator's type for a type of PostgreSQL. */
function typeIn(type: string): string {
  return EVALUATED[type] ?? 'VARCHAR'
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

function literal(value: Value): string {
  if (value === null) return 'NULL'
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

/** Writes the statement that adds rows with the same columns to a relation. */
function insert(relation: string, rows: readonly Row[], schema: SchemaName = 'pg_catalog'): string[] {
  const [first] = rows
  if (first === undefined) return []
  const columns = Object.keys(first)
  const values = rows.map((row) => `(${columns.map((column) => literal(row[column] ?? null)).join(', ')})`)
  const names = columns.map((column) => `"${column}"`).join(', ')
  return [`INSERT INTO ${SCHEMAS[schema]}.${relation} (${names}) VALUES ${values.join(', ')}`]
}

/** What every database of the service has. */
function serverFacts(relations: readonly Relation[]): readonly string[] {
  const databases = [DATABASE, DUMMY_DATABASE].map((datname, index) => ({
    ...{
      oid: FIRST_OWN_OID + index,
      datname,
      datdba: OWNER,
      encoding: 6,
      datcollate: 'C',
      datctype: 'C',
    },
    ...{ datistemplate: false, datallowconn: true, datconnlimit: -1, dattablespace: 1_663 },
    datlocprovider: 'c',
  }))
  const role = {
    rolname: 'sotto',
    rolsuper: false,
    rolinherit: true,
    rolcreaterole: false,
    rolcreatedb: false,
  }
  const rights = {
    rolcanlogin: false,
    rolreplication: false,
    rolbypassrls: false,
    rolconnlimit: -1,
    oid: OWNER,
  }
  return [
    ...insert(
      'pg_namespace',
      Object.entries(NAMESPACES).map(([nspname, oid]) => ({ oid, nspname, nspowner: OWNER })),
    ),
    ...insert('pg_database', databases),
    ...insert('pg_roles', [{ ...role, ...rights }]),
    ...insert('pg_authid', [{ ...role, ...rights }]),
    ...insert('pg_user', [{ usename: 'sotto', usesysid: OWNER, usecreatedb: false, usesuper: false }]),
    ...withPrincipal('pg_roles', 'rolname', 'oid', 'true AS rolcanlogin'),
    ...withPrincipal('pg_user', 'usename', 'usesysid'),
    ...insert('pg_am', [{ oid: HEAP, amname: 'heap', amtype: 't' }]),
    ...insert('pg_tablespace', [{ oid: 1_663, spcname: 'pg_default', spcowner: OWNER }]),
    ...insert(
      'pg_collation',
      [100, 950].map((oid) => ({ oid, collname: oid === 100 ? 'default' : 'C', collnamespace: 11 })),
    ),
    ...insert('pg_timezone_names', [{ name: 'UTC', abbrev: 'UTC', is_dst: false }]),
    ...insert(
      'pg_settings',
      createSettings({ name: '' })
        .all()
        .map(([name, setting]) => ({
          name,
          setting,
          reset_val: setting,
          boot_val: setting,
          vartype: 'string',
        })),
    ),
    ...typeFacts(),
    ...insert(
      'pg_class',
      relations.map(({ schema, name, oid, kind, columns }) => ({
        ...{ oid, relname: name, relnamespace: NAMESPACES[schema], relkind: kind },
        ...commonOfClass(columns.length),
      })),
    ),
    ...insert(
      'schemata',
      Object.keys(NAMESPACES).map((name) => ({
        ...{ catalog_name: DATABASE, schema_name: name, schema_owner: 'sotto' },
      })),
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

const commonOfClass = (columns: number) => ({
  ...{ relowner: OWNER, relam: HEAP, reltablespace: 0, relpages: 0, reltuples: -1, relhasindex: false },
  ...{ relisshared: false, relpersistence: 'p', relnatts: columns, relchecks: 0, relhasrules: false },
  ...{ relhastriggers: false, relhassubclass: false, relrowsecurity: false, relforcerowsecurity: false },
  ...{ relispopulated: true, relreplident: 'd', relispartition: false, reltoastrelid: 0, reltype: 0 },
  ...{ reloftype: 0, relfilenode: 0, relallvisible: 0, relrewrite: 0 },
})

const COLLATIONS: ReadonlyMap<string, number> = new Map([
  ['name', 950],
  ...['text', 'bpchar', 'varchar'].map((name) => [name, 100] as const),
])

function typeFacts(): readonly string[] {
  const types = linesOf(TYPES).map((line) => line.split(' '))
  const inverse = (name = '') => name.replace(/in$/, 'out').replace(/recv$/, 'send')
  const functions = [
    ...new Set(
      types.flatMap(([...each]) => [each[10], each[11]].flatMap((name = '') => [name, inverse(name)])),
    ),
  ]
  const oidOfFunction = (name = '') => FIRST_FUNCTION_OID + functions.indexOf(name)
  return [
    ...insert(
      'pg_proc',
      functions.map((proname) => ({
        ...{ oid: oidOfFunction(proname), proname, pronamespace: 11, proowner: OWNER, prokind: 'f' },
      })),
    ),
    ...insert(
      'pg_type',
      types.map(([oid, name = '', size, byValue, kind = 'b', category = 'U', preferred, ...others]) => {
        const [delimiter = ',', element, array, input, receive, alignment = 'i', storage = 'p'] = others
        return {
          ...{ oid: Number(oid), typname: name, typnamespace: 11, typowner: OWNER, typlen: Number(size) },
          ...{
            typbyval: byValue === 't',
            typtype: kind,
            typcategory: category,
            typispreferred: preferred === 't',
          },
          ...{ typisdefined: true, typdelim: delimiter, typrelid: 0, typelem: Number(element) },
          ...{ typarray: Number(array), typinput: oidOfFunction(input), typreceive: oidOfFunction(receive) },
          ...{ typoutput: oidOfFunction(inverse(input)), typsend: oidOfFunction(inverse(receive)) },
          ...{ typmodin: 0, typmodout: 0, typanalyze: 0, typsubscript: 0 },
          ...{ typalign: alignment, typstorage: storage, typnotnull: false, typbasetype: 0, typtypmod: -1 },
          ...{ typndims: 0, typcollation: COLLATIONS.get(name.replace(/^_/, '')) ?? 0 },
        }
      }),
    ),
  ]
}

const SIZES: ReadonlyMap<number, number> = new Map([
  [OID.bool, 1],
  [OID.date, 4],
  [OID.text, -1],
])

const ALIGNMENTS: ReadonlyMap<number, string> = new Map([
  [OID.bool, 'c'],
  [OID.date, 'i'],
  [OID.text, 'i'],
])

const MAY_SELECT = { grantor: 'sotto', grantee: 'PUBLIC', privilege_type: 'SELECT', is_grantable: 'NO' }

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
    type: typeOfCompared(column.type),
    isNullable: column.nullable,
  }))
  const described = { classoid: OID_OF_PG_CLASS, objoid: oid }
  const place = { table_catalog: DATABASE, table_schema: 'public', table_name: id }
  return [
    ...insert('pg_class', [
      {
        ...{
          oid,
          relname: id,
          relnamespace: NAMESPACES.public,
          relkind: 'r',
          ...commonOfClass(columns.length),
        },
        // Everybody who sees the dataset may read it, and nobody may do more.
        relacl: '[sotto=r/sotto, =r/sotto]',
      },
    ]),
    ...insert('pg_tables', [
      {
        ...{ schemaname: 'public', tablename: id, tableowner: 'sotto', hasindexes: false, hasrules: false },
        ...{ hastriggers: false, rowsecurity: false },
      },
    ]),
    ...insert(
      'pg_attribute',
      columns.map(({ column, number, type, isNullable }) => ({
        ...{
          attrelid: oid,
          attname: column.name,
          atttypid: type,
          attlen: SIZES.get(type) ?? 8,
          attnum: number,
        },
        ...{
          attndims: 0,
          attcacheoff: -1,
          atttypmod: -1,
          attbyval: type !== OID.text,
          attnotnull: !isNullable,
        },
        ...{ atthasdef: false, atthasmissing: false, attidentity: '', attgenerated: '', attisdropped: false },
        ...{
          attislocal: true,
          attinhcount: 0,
          attcollation: type === OID.text ? 100 : 0,
          attstorage: type === OID.text ? 'x' : 'p',
        },
        ...{ attstattarget: -1, attcompression: '', attalign: ALIGNMENTS.get(type) ?? 'd' },
      })),
    ),
    ...insert(
      DECLARED_VALUES,
      stored.flatMap((column) =>
        column.type === 'category'
          ? [...column.categories, ...(column.nullable ? [null] : [])].map((value) => ({
              ...{ relation: id, attribute: column.name, value },
            }))
          : [],
      ),
    ),
    ...insert('pg_description', [
      { ...described, objsubid: 0, description: title },
      ...columns.map(({ column, number }) => ({
        ...described,
        objsubid: number,
        description: commentOf(column),
      })),
    ]),
    ...insert(
      'tables',
      [{ ...place, table_type: 'BASE TABLE', is_insertable_into: 'NO', is_typed: 'NO' }],
      'information_schema',
    ),
    ...insert('table_privileges', [{ ...place, ...MAY_SELECT, with_hierarchy: 'YES' }], 'information_schema'),
    ...insert(
      'column_privileges',
      columns.map(({ column }) => ({ ...place, ...MAY_SELECT, column_name: column.name })),
      'information_schema',
    ),
    ...insert(
      'columns',
      columns.map(({ column, number, type, isNullable }) => ({
        ...{ ...place, column_name: column.name, ordinal_position: number },
        ...{ is_nullable: isNullable ? 'YES' : 'NO', data_type: SQL_NAMES.get(type) ?? nameOfType(type) },
        ...{ udt_catalog: DATABASE, udt_schema: 'pg_catalog', udt_name: nameOfType(type) },
        ...{
          is_self_referencing: 'NO',
          identity_cycle: 'NO',
          is_identity: 'NO',
          is_generated: 'NEVER',
          is_updatable: 'NO',
          dtd_identifier: String(number),
        },
        ...{ numeric_precision: type === OID.int8 ? 64 : type === OID.float8 ? 53 : null },
        ...{ numeric_precision_radix: type === OID.int8 || type === OID.float8 ? 2 : null },
        character_octet_length: type === OID.text ? 2 ** 30 : null,
        numeric_scale: type === OID.int8 ? 0 : null,
        datetime_precision: type === OID.timestamptz ? 6 : type === OID.date ? 0 : null,
      })),
      'information_schema',
    ),
  ]
}

function nameOfType(type: number): string {
  return must(
    Object.entries(OID).find(([, oid]) => oid === type),
    'a type',
  )[0]
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
