import { must } from '../../privacy/must.ts'
import { SQL_NAMES } from '../values/oids.ts'
import { MACRO_PREFIX, OID_OF_PRINCIPAL, SCHEMAS, SERVER_VERSION } from './names.ts'
import { KEYWORDS } from './postgres-relations.ts'

const CATALOGUE = SCHEMAS.pg_catalog

/**
 * Looks something up. The names of these relations and columns are used nowhere else: an argument of a macro that has a name of
 * one of them would be taken for it.
 */
function found(column: string, relation: string, condition: string): string {
  return `(SELECT min(${column}) FROM ${CATALOGUE}.${relation} WHERE ${condition})`
}

/** The last part of a qualified name, without quotes. */
const LAST_NAME = `replace(regexp_extract(a, '("[^"]*"|[^."]+)$'), '"', '')`

/** The name of an OID of a relation. */
function nameOf(relation: string): string {
  return `coalesce(${found('zz_name', relation, 'zz_oid = a')}, CASE a WHEN 0 THEN '-' ELSE a::VARCHAR END)`
}

/** Datasets can be read only. */
function mayRead(privilege: string): string {
  return `regexp_matches(lower(${privilege}), 'select|usage|connect|execute')`
}

/** Parts of a format of `to_char`, and those of the evaluator. */
const TIME_FORMATS = { YYYY: '%Y', MM: '%m', DD: '%d', HH24: '%H', MI: '%M', SS: '%S', TZ: 'UTC' }

/** A time in a format of these parts. */
function formattedTime(time: string, format: string): string {
  const parts = Object.entries(TIME_FORMATS)
  const isKnown = `regexp_full_match(${format}, '(${Object.keys(TIME_FORMATS).join('|')}|[^A-Za-z])*')`
  const formatted = parts.reduce(
    (text, [part, own]) => `replace(${text}, '${part}', strftime(${time}::TIMESTAMP, '${own}'))`,
    format,
  )
  return `CASE WHEN ${isKnown} THEN ${formatted} ELSE error('to_char takes ${Object.keys(TIME_FORMATS).join(', ')} here.') END`
}

/** `start{one|other}end(parameters) = body` */
const MACRO = /^(\w*)(?:\{(.*)\}(\w*))?\(([^)]*)\) = (.*)$/

/**
 * Functions of PostgreSQL's catalogue as macros of the evaluator: a line for each number of arguments. Braces in a name have
 * the alternatives of a part of it.
 */
const MACROS = `
version() = 'PostgreSQL ${SERVER_VERSION} (Sotto)'
current_{database|catalog}() = getvariable('database')
{current_user|session_user|user|current_role}() = getvariable('principal')
current_schema() = 'public'
current_schemas(a) = CASE WHEN a THEN ['pg_catalog', 'public'] ELSE ['public'] END
current_setting(a) = getvariable('settings')[lower(a)]
current_setting(a, b) = getvariable('settings')[lower(a)]
pg_backend_pid() = 1::INTEGER
pg_{postmaster_start|conf_load}_time() = NULL::TIMESTAMP
pg_blocking_pids(a) = []::INTEGER[]
pg_is_{in_recovery|wal_replay_paused}() = false
txid_current() = 1::BIGINT
inet_{server|client}_addr() = NULL::VARCHAR
inet_{server|client}_port() = NULL::INTEGER
pg_my_temp_schema() = 0::UINTEGER
pg_is_other_temp_schema(a) = false
pg_table_is_visible(a) = coalesce(${found('zz_visible', 'zz_classes', 'zz_oid = a')}, false)
pg_{type|function|operator|opclass|opfamily|collation|conversion|statistics_obj}_is_visible(a) = true
pg_{ts_config|ts_dict|ts_parser|ts_template}_is_visible(a) = true
has_{database|schema|table|function|language|sequence|type|any_column}_privilege(a, b) = ${mayRead('b')}
has_{database|schema|table|function|language|sequence|type|any_column}_privilege(a, b, c) = ${mayRead('c')}
has_column_privilege(a, b, c) = ${mayRead('c')}
has_column_privilege(a, b, c, d) = ${mayRead('d')}
pg_has_role(a, b) = true
pg_has_role(a, b, c) = true
pg_get_userbyid(a) = CASE a WHEN ${OID_OF_PRINCIPAL} THEN getvariable('principal') ELSE 'sotto' END
{getdatabaseencoding|pg_client_encoding}() = 'UTF8'
pg_encoding_to_char(a) = CASE a WHEN 6 THEN 'UTF8' ELSE '' END
pg_char_to_encoding(a) = 6::INTEGER
pg_{relation|table|total_relation|indexes|database|tablespace}_size(a) = NULL::BIGINT
pg_size_pretty(a) = NULL::VARCHAR
pg_relation_is_publishable(a) = false
pg_{relation_filenode|partition_ancestors}(a) = NULL::UINTEGER
pg_table_is_locked(a) = false
pg_get_{expr|viewdef|indexdef|constraintdef|ruledef|triggerdef|functiondef}(a) = NULL::VARCHAR
pg_get_{expr|viewdef|indexdef|constraintdef|ruledef|triggerdef|functiondef}(a, b) = NULL::VARCHAR
pg_get_{expr|viewdef|indexdef|constraintdef|ruledef|triggerdef|functiondef}(a, b, c) = NULL::VARCHAR
pg_get_{partkeydef|function_result|function_arguments|function_identity_arguments|function_sqlbody}(a) = NULL::VARCHAR
pg_get_statisticsobjdef_columns(a) = NULL::VARCHAR
pg_get_serial_sequence(a, b) = NULL::VARCHAR
pg_tablespace_location(a) = ''
pg_advisory_unlock_all() = ''
pg_stat_get_numscans(a) = 0::BIGINT
pg_column_is_updatable(a, b, c) = false
pg_relation_is_updatable(a, b) = 0::INTEGER
_pg_expandarray(a) = struct_pack(x := NULL::SMALLINT, n := NULL::INTEGER)
_pg_truetypid(a, b) = NULL::UINTEGER
age(a) = NULL::INTEGER
bpchar(a) = a::VARCHAR
row_to_json(a) = to_json(a)::VARCHAR
to_char(a, b) = ${formattedTime('a', 'b')}
array_upper(a, b) = len(a)
array_lower(a, b) = 1::INTEGER
cardinality(a) = len(a)
quote_literal(a) = '''' || replace(a, '''', '''''') || ''''
quote_ident(a) = CASE WHEN regexp_full_match(a, '[a-z_][a-z0-9_]*') AND ${found('zz_word', 'zz_keywords', 'zz_word = a')} IS NULL THEN a ELSE '"' || replace(a, '"', '""') || '"' END
parse_ident(a) = list_transform(regexp_extract_all(a, '"[^"]*"|[^."]+'), lambda part: CASE WHEN part[1] = '"' THEN replace(part, '"', '') ELSE lower(part) END)
aclexplode(a) = unnest(list_transform(a, lambda item: struct_pack(grantor := 10::UINTEGER, grantee := CASE WHEN starts_with(item, '=') THEN 0 ELSE 10 END::UINTEGER, privilege_type := 'SELECT', is_grantable := false)))
obj_description(a) = ${found('zz_text', 'zz_descriptions', 'zz_object = a AND zz_part = 0')}
obj_description(a, b) = ${found('zz_text', 'zz_descriptions', 'zz_object = a AND zz_part = 0')}
shobj_description(a, b) = NULL::VARCHAR
col_description(a, b) = ${found('zz_text', 'zz_descriptions', 'zz_object = a AND zz_part = b AND b > 0')}
format_type(a, b) = CASE WHEN a IS NOT NULL THEN coalesce(${found('zz_sql', 'zz_types', 'zz_oid = a')}, CASE a WHEN 0 THEN '-' ELSE '???' END) END
{to_regclass|oid_of_class}(a) = ${found('zz_oid', 'zz_classes', `zz_name = ${LAST_NAME}`)}
{to_regtype|oid_of_type}(a) = ${found('zz_oid', 'zz_types', `zz_sql = a OR zz_name = ${LAST_NAME}`)}
oid_of_function(a) = ${found('zz_oid', 'zz_functions', `zz_name = ${LAST_NAME}`)}
oid_of_namespace(a) = ${found('zz_oid', 'zz_namespaces', `zz_name = ${LAST_NAME}`)}
name_of_class(a) = ${nameOf('zz_classes')}
name_of_function(a) = ${nameOf('zz_functions')}
name_of_namespace(a) = ${nameOf('zz_namespaces')}
-- Of arguments of functions, addresses and arguments of triggers, of which there are none.
{oidvectortypes|host}(a) = NULL::VARCHAR
encode(a, b) = NULL::VARCHAR
-- Their results are many times longer than their arguments, so that these are cut.
replace(a, b, c) = replace(left(a, 1024), b, left(c, 32))
regexp_replace(a, b, c) = regexp_replace(left(a, 1024), b, left(c, 32))
regexp_replace(a, b, c, d) = regexp_replace(left(a, 1024), b, left(c, 32), 'g')
-- Columns have neither identities nor defaults, for which tools ask by this.
${Array.from({ length: 12 }, (_, pairs) => `json_build_object(${parameterList(2 * pairs)}) = NULL::VARCHAR`).join('\n')}
`

function parameterList(count: number): string {
  return Array.from({ length: count }, (_, index) => `p${index}`).join(', ')
}

/** The variants of each macro, by its name: what is in brackets, and what it returns. */
const MACROS_BY_NAME = Map.groupBy(
  MACROS.trim()
    .split('\n')
    .filter((line) => !line.startsWith('--'))
    .flatMap((line) => {
      const [, start, parts, end, parameters, body] = must(MACRO.exec(line) ?? undefined, 'a macro')
      const names = parts === undefined ? [start] : parts.split('|').map((part) => `${start}${part}${end}`)
      return names.map((name) => ({ name, parameters, body }))
    }),
  ({ name }) => must(name, 'the name of a macro'),
)

/** Functions that return rows, without arguments, and their rows. */
export const OWN_TABLES: ReadonlyMap<string, string> = new Map([
  [
    'pg_get_keywords',
    `SELECT zz_word AS word, zz_code AS catcode, true AS barelabel, zz_kind AS catdesc, 'can be bare label' AS baredesc
    FROM ${CATALOGUE}.zz_keywords`,
  ],
  ['pg_show_all_settings', `SELECT * FROM ${CATALOGUE}.pg_settings`],
  [
    'pg_available_extensions',
    `SELECT name, default_version, comment FROM ${CATALOGUE}.pg_available_extensions`,
  ],
])

/** Names of the macros. */
export const OWN_FUNCTIONS: ReadonlySet<string> = new Set(MACROS_BY_NAME.keys())

/** Writes the statements that create the macros, over the relations. */
export function functionStatements(): readonly string[] {
  const names = [...SQL_NAMES].map(([oid, name]) => `WHEN ${oid} THEN '${name}'`).join(' ')
  const named = (alias: string) => `CASE ${alias}.oid ${names} ELSE ${alias}.typname END`
  const lookUp = (name: string, columns: string, relation: string) =>
    `CREATE TABLE ${CATALOGUE}.${name} AS SELECT ${columns} FROM ${CATALOGUE}.${relation}`
  return [
    lookUp(
      'zz_types',
      `t.oid AS zz_oid, t.typname AS zz_name, CASE WHEN e.oid IS NULL THEN ${named('t')} ELSE ${named('e')} || '[]' END AS zz_sql`,
      `pg_type t LEFT JOIN ${CATALOGUE}.pg_type e ON e.oid = t.typelem AND t.typname[1] = '_'`,
    ),
    lookUp(
      'zz_classes',
      'oid AS zz_oid, relname AS zz_name, relnamespace IN (11, 2200) AS zz_visible',
      'pg_class',
    ),
    lookUp('zz_functions', 'oid AS zz_oid, proname AS zz_name', 'pg_proc'),
    lookUp('zz_namespaces', 'oid AS zz_oid, nspname AS zz_name', 'pg_namespace'),
    lookUp(
      'zz_descriptions',
      'objoid AS zz_object, objsubid AS zz_part, description AS zz_text',
      'pg_description',
    ),
    `CREATE TABLE ${CATALOGUE}.zz_keywords AS SELECT * FROM (VALUES ${keywordRows()}) AS words(zz_word, zz_code, zz_kind)`,
    ...Array.from(
      MACROS_BY_NAME,
      ([name, variants]) =>
        `CREATE MACRO main.${MACRO_PREFIX}${name} ` +
        variants.map(({ parameters, body }) => `(${parameters}) AS ${body}`).join(', '),
    ),
    ...[...OWN_TABLES].map(([name, rows]) => `CREATE MACRO main.${MACRO_PREFIX}${name}() AS TABLE ${rows}`),
  ]
}

function keywordRows(): string {
  const lines = KEYWORDS.trim().split('\n')
  return lines
    .flatMap((line) => {
      const [kind = '', words = ''] = line.split(': ')
      const code = kind === 'reserved' ? 'R' : kind.startsWith('reserved') ? 'T' : 'C'
      return words.split(' ').map((word) => `('${word}', '${code}', '${kind}')`)
    })
    .join(', ')
}

/** Functions that the evaluator has itself, with the meaning of PostgreSQL. All end soon on small relations. */
export const BUILT_IN: ReadonlySet<string> = new Set(
  `abs ceil floor round sign mod power sqrt greatest least coalesce nullif
  length char_length lower upper btrim ltrim rtrim trim substring substr left right concat concat_ws position strpos
  split_part translate ascii chr starts_with regexp_matches string_to_array array_to_string md5 initcap
  count sum min max avg bool_and bool_or array_agg string_agg
  array_length array_position array_append array_cat array_remove unnest generate_subscripts generate_series
  row_number rank dense_rank lag lead first_value last_value
  now date_trunc date_part extract`.split(/\s+/),
)
