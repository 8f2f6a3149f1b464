import type { Spending } from '../../answers/charge.ts'
import type { Principal } from '../../http/access/principal.ts'
import { defined } from '../../privacy/defined.ts'
import { didYouMean } from '../../privacy/did-you-mean.ts'
import { SERVER_VERSION } from '../catalogue/names.ts'
import { WireError } from '../errors.ts'

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
function millisecondsOf(value: string): number | undefined {
  const [, number = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d|)\s*$/.exec(value) ?? []
  const milliseconds = Math.round(Number(number) * (UNITS[unit] ?? 1))
  return number === '' || milliseconds > LONGEST_MS ? undefined : milliseconds
}

/** Settings by their name in lower-case letters. The prefix `sotto.` is that of the service's own. */
const SETTINGS: Readonly<Record<string, Setting>> = {
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
const ALTERNATIVES: Readonly<Record<string, string>> = {
  'sotto.epsilon': 'sotto.half_width',
  'sotto.half_width': 'sotto.epsilon',
}

/** How PostgreSQL spells settings whose names have capital letters. Clients look for these. */
const SPELLINGS: Readonly<Record<string, string>> = {
  datestyle: 'DateStyle',
  intervalstyle: 'IntervalStyle',
  timezone: 'TimeZone',
}

const LONGEST_VALUE = 1_000
const MOST_OWN_SETTINGS = 100

/** The settings of a session. */
export interface Settings {
  /** @throws WireError for an unknown name */
  show(name: string): string
  /**
   * Sets a value, or the default.
   * @param local true if it ends with the transaction. Outside of one it has no effect.
   * @returns the settings that clients are told of, with their new values
   * @throws WireError for an unknown name and for a value that the setting does not take
   */
  set(name: string, value: string | undefined, local?: boolean): readonly (readonly [string, string])[]
  /** From now on, {@link reset} returns to the present values. */
  startHere(): void
  /** Returns to the values of the start. */
  reset(): readonly (readonly [string, string])[]
  /** All settings that clients are told of. */
  reported(): readonly (readonly [string, string])[]
  /** All settings. */
  all(): readonly (readonly [string, string])[]
  /** Notes the beginning of a transaction. */
  begin(): void
  /** Ends a transaction: all its settings end if it was rolled back, otherwise its local ones. */
  end(isRolledBack: boolean): readonly (readonly [string, string])[]
  /** Notes a savepoint of the transaction. */
  save(savepoint: string): void
  /** Forgets a savepoint and those after it. */
  release(savepoint: string): void
  /** Returns to the settings at a savepoint. */
  rollBackTo(savepoint: string): readonly (readonly [string, string])[]
  /** The fields of a request beside its statement. */
  terms(): { readonly epsilon?: number; readonly accuracy?: { readonly halfWidth: number } }
  spending(): Spending
  showsHalfWidths(): boolean
  /** Time limit for a statement in milliseconds; undefined without one. */
  timeoutMs(): number | undefined
}

type Values = ReadonlyMap<string, string>

/** The values that apply, and those that will apply once the transaction is committed. */
interface Levels {
  readonly values: Values
  readonly lasting: Values
}

const MOST_SAVEPOINTS = 100

/** Returns the canonical name of a setting, as the table has it. */
function canonical(name: string): string {
  const folded = name.toLowerCase()
  return ALIASES[folded] ?? folded
}

/** Returns the name of a setting as PostgreSQL spells it. */
export function spelled(name: string): string {
  return SPELLINGS[canonical(name)] ?? canonical(name)
}

/** What a session begins with: the name of its user, and what its key states. */
export type SettingsOfKey = Pick<Principal, 'name' | 'spending' | 'settings'>

function valuesOfKey({ name, spending, settings: { epsilon, halfWidth, halfWidths } = {} }: SettingsOfKey) {
  const values = {
    session_authorization: name,
    'sotto.spending': spending === 'allow' ? 'allow' : undefined,
    'sotto.epsilon': epsilon?.toString(),
    'sotto.half_width': halfWidth?.toString(),
    'sotto.half_widths': halfWidths ? 'on' : undefined,
  }
  return new Map(Object.entries(defined(values)))
}

/** Creates the settings of a session. */
export function createSettings(key: SettingsOfKey): Settings {
  let start: Values = valuesOfKey(key)
  let now: Levels = { values: start, lasting: start }
  /** The settings before the transaction, and at its savepoints, oldest first. */
  let kept: readonly { readonly savepoint?: string; readonly levels: Levels }[] = []

  const currentOf = (name: string, from: Values = now.values) =>
    from.get(name) ?? (Object.hasOwn(SETTINGS, name) ? SETTINGS[name]?.standard : undefined)
  const reportedNames = Object.keys(SETTINGS).filter((name) => SETTINGS[name]?.reported)
  const report = (names: readonly string[]) =>
    names.flatMap((name) =>
      SETTINGS[name]?.reported ? [[spelled(name), currentOf(name) ?? ''] as const] : [],
    )

  const replace = (by: Levels) => {
    const earlier = now.values
    now = by
    return report(reportedNames.filter((name) => currentOf(name) !== currentOf(name, earlier)))
  }
  const placeOf = (savepoint: string) => kept.findLastIndex((each) => each.savepoint === savepoint)

  return {
    show(name) {
      const value = currentOf(canonical(name))
      if (value === undefined) throw unknownSetting(name)
      return value
    },
    set(written, value, local = false) {
      const name = canonical(written)
      const read = readValue(name, written, value, now.values) ?? start.get(name)
      if (name === 'sotto.spending' && read === 'allow' && key.spending === 'never')
        throw new WireError('42501', 'The key allows only answers that cost nothing.')
      const changed = (before: Values) => {
        const after = new Map(before)
        if (read === undefined) after.delete(name)
        else after.set(name, read)
        const other = ALTERNATIVES[name]
        if (other === undefined) return after
        const standard = start.get(other)
        // The one that was set last applies. Without it, that of the start does.
        if (read !== undefined) after.delete(other)
        else if (!after.has(other) && standard !== undefined) after.set(other, standard)
        return after
      }
      if (!local) return replace({ values: changed(now.values), lasting: changed(now.lasting) })
      return kept.length === 0 ? [] : replace({ ...now, values: changed(now.values) })
    },
    startHere() {
      start = now.values
    },
    reset: () => replace({ values: start, lasting: start }),
    reported: () => report(reportedNames),
    all: () => Object.keys(SETTINGS).map((name) => [spelled(name), currentOf(name) ?? ''] as const),
    begin() {
      if (kept.length === 0) kept = [{ levels: now }]
    },
    end(isRolledBack) {
      const [before] = kept
      if (before === undefined) return []
      kept = []
      const { lasting } = isRolledBack ? before.levels : now
      return replace({ values: lasting, lasting })
    },
    save(savepoint) {
      if (kept.length > MOST_SAVEPOINTS)
        throw new WireError('54000', `A transaction has at most ${MOST_SAVEPOINTS} savepoints.`)
      if (kept.length > 0) kept = [...kept, { savepoint, levels: now }]
    },
    release(savepoint) {
      const place = placeOf(savepoint)
      if (place > 0) kept = kept.slice(0, place)
    },
    rollBackTo(savepoint) {
      const place = placeOf(savepoint)
      const found = kept[place]
      if (found === undefined) throw new WireError('3B001', `There is no savepoint "${savepoint}".`)
      kept = kept.slice(0, place + 1)
      return replace(found.levels)
    },
    terms() {
      const epsilon = currentOf('sotto.epsilon')
      const halfWidth = currentOf('sotto.half_width')
      if (epsilon) return { epsilon: Number(epsilon) }
      if (halfWidth) return { accuracy: { halfWidth: Number(halfWidth) } }
      return {}
    },
    spending: () =>
      key.spending === 'never' ? 'never' : currentOf('sotto.spending') === 'allow' ? 'allow' : 'replay-only',
    showsHalfWidths: () => currentOf('sotto.half_widths') === 'on',
    timeoutMs: () => millisecondsOf(currentOf('statement_timeout') ?? '') || undefined,
  }
}

/** Reads a value of a setting; undefined for the default. */
function readValue(
  name: string,
  written: string,
  value: string | undefined,
  values: Values,
): string | undefined {
  const setting = Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined
  if (setting === undefined) {
    // As in PostgreSQL, names with a prefix belong to extensions and drivers.
    if (!name.includes('.') || name.startsWith('sotto.')) throw unknownSetting(written)
    if (values.size > MOST_OWN_SETTINGS)
      throw new WireError('54000', `A session has at most ${MOST_OWN_SETTINGS} settings of its own.`)
  }
  if (setting?.isFixed && value !== undefined)
    throw new WireError('55P02', `The parameter "${written}" cannot be changed.`)
  if (value === undefined) return undefined
  const read = setting?.read === undefined ? value : setting.read(value)
  if (read === undefined || read.length > LONGEST_VALUE)
    throw new WireError('22023', `The parameter "${written}" ${setting?.rule ?? 'is too long'}.`)
  return read
}

function unknownSetting(name: string): WireError {
  const advice = didYouMean(name, Object.keys(SETTINGS))
  return new WireError('42704', `There is no parameter "${name}"${advice}.`)
}
