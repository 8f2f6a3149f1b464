import type { Spending } from '../../answers/charge.ts'
import type { Principal } from '../../http/access/principal.ts'
import { defined } from '../../privacy/defined.ts'
import { didYouMean } from '../../privacy/did-you-mean.ts'
import { WireError } from '../errors.ts'
import { ALTERNATIVES, canonical, millisecondsOf, SETTINGS, settingNamed, spelled } from './setting-table.ts'

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
    from.get(name) ?? settingNamed(name)?.standard
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
  const setting = settingNamed(name)
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
