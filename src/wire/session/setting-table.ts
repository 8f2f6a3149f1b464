import { SERVER_VERSION } from '../catalogue/names.ts'

/** A setting of a session: its default, and the values that it takes. */
interface Setting {
  readonly standard: string
  /** Returns the value as it is shown; undefined for one that the setting does not take. */
  readonly read?: (value: string) => string | undefined
  readonly rule?: string
  /** True if clients are told the value, and each change of it. */
  readonly reported?: true
  /** False for a fact of the service. */
  readonly isFixed?: true
}

const fixed = (standard: string, reported?: true): Setting => ({
  standard,
  isFixed: true,
  ...(reported && { reported }),
})
const ignored = (standard: string): Setting => ({ standard })
const only = (standard: string, pattern: RegExp, rule: string): Setting => ({
  standard,
  reported: true,
  read: (value) => (pattern.test(value) ? standard : undefined),
  rule,
})
const either = (standard: string, ...others: readonly string[]): Setting => ({
  standard,
  read: (value) => [standard, ...others].find((each) => each === value.toLowerCase()),
  rule: `must be ${[standard, ...others].join(' or ')}`,
})
const positive: Setting = {
  standard: '',
  read: (value) => (value === '' || (isDecimal(value) && Number(value) > 0) ? value : undefined),
  rule: 'must be a decimal number greater than 0, or empty',
}

function isDecimal(value: string): boolean {
  return value.length <= 40 && /^(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i.test(value)
}

function readSwitch(value: string): string | undefined {
  if (/^(on|true|yes|1)$/i.test(value)) return 'on'
  return /^(off|false|no|0)$/i.test(value) ? 'off' : undefined
}

const UNITS: Readonly<Record<string, number>> = {
  ...{ '': 1, us: 0.001, ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 },
}
/** PostgreSQL's longest time limit, and that of timers. */
const LONGEST_MS = 2 ** 31 - 1

/** Reads a time as PostgreSQL does; undefined for another text. */
export function millisecondsOf(value: string): number | undefined {
  const [, number = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d|)\s*$/.exec(value) ?? []
  const milliseconds = Math.round(Number(number) * (UNITS[unit] ?? 1))
  return number === '' || milliseconds > LONGEST_MS ? undefined : milliseconds
}

/** Settings by their name in lower-case letters. The prefix `sotto.` is that of the service's own. */
export const SETTINGS: Readonly<Record<string, Setting>> = {
  'sotto.epsilon': positive,
  'sotto.half_width': positive,
  'sotto.spending': either('replay-only', 'allow'),
  'sotto.half_widths': { standard: 'off', read: readSwitch, rule: 'must be on or off' },
  server_version: fixed(SERVER_VERSION, true),
  server_version_num: fixed('150018'),
  server_encoding: fixed('UTF8', true),
  client_encoding: only('UTF8', /^'?(utf-?8|unicode|sql_ascii)'?$/i, 'must be UTF8'),
  datestyle: only('ISO, MDY', /^iso/i, 'must be ISO'),
  standard_conforming_strings: only('on', /^(on|true|1)$/i, 'must be on'),
  timezone: { standard: 'UTC', reported: true },
  application_name: { standard: '', reported: true },
  integer_datetimes: fixed('on', true),
  intervalstyle: { standard: 'postgres', reported: true },
  is_superuser: fixed('off', true),
  session_authorization: { standard: '', isFixed: true, reported: true },
  default_transaction_read_only: { ...ignored('on'), reported: true },
  in_hot_standby: fixed('off', true),
  transaction_read_only: ignored('on'),
  transaction_isolation: ignored('read committed'),
  default_transaction_isolation: ignored('read committed'),
  transaction_deferrable: ignored('off'),
  role: either('none'),
  search_path: ignored('"$user", public'),
  bytea_output: ignored('hex'),
  client_min_messages: ignored('notice'),
  escape_string_warning: ignored('on'),
  backslash_quote: ignored('safe_encoding'),
  enable_seqscan: ignored('on'),
  extra_float_digits: ignored('1'),
  geqo: ignored('on'),
  idle_in_transaction_session_timeout: ignored('0'),
  idle_session_timeout: ignored('0'),
  jit: ignored('off'),
  lc_collate: fixed('C'),
  lc_ctype: fixed('C'),
  lc_messages: ignored('C'),
  lc_monetary: ignored('C'),
  lc_numeric: ignored('C'),
  lc_time: ignored('C'),
  lock_timeout: ignored('0'),
  max_identifier_length: fixed('63'),
  max_index_keys: fixed('32'),
  block_size: fixed('8192'),
  quote_all_identifiers: ignored('off'),
  row_security: ignored('on'),
  ssl_renegotiation_limit: ignored('0'),
  statement_timeout: {
    standard: '0',
    read: (value) => (millisecondsOf(value) === undefined ? undefined : value),
    rule: 'must be a number of milliseconds, or have a unit: us, ms, s, min, h or d',
  },
  synchronize_seqscans: ignored('on'),
  synchronous_commit: ignored('on'),
  tcp_keepalives_idle: ignored('0'),
  work_mem: ignored('4MB'),
}

/** Other spellings of settings. */
const ALIASES: Readonly<Record<string, string>> = {
  'transaction isolation level': 'transaction_isolation',
  'session authorization': 'session_authorization',
  names: 'client_encoding',
}

/** Settings of which one applies. */
export const ALTERNATIVES: Readonly<Record<string, string>> = {
  'sotto.epsilon': 'sotto.half_width',
  'sotto.half_width': 'sotto.epsilon',
}

/** How PostgreSQL spells settings whose names have capital letters. Clients look for these. */
const SPELLINGS: Readonly<Record<string, string>> = {
  datestyle: 'DateStyle',
  intervalstyle: 'IntervalStyle',
  timezone: 'TimeZone',
}

/** Returns the canonical name of a setting, as the table has it. */
export function canonical(name: string): string {
  const folded = name.toLowerCase()
  return ALIASES[folded] ?? folded
}

/** Returns the name of a setting as PostgreSQL spells it. */
export function spelled(name: string): string {
  return SPELLINGS[canonical(name)] ?? canonical(name)
}

/** Returns the setting of a canonical name; undefined without one. */
export function settingNamed(name: string): Setting | undefined {
  return Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined
}
