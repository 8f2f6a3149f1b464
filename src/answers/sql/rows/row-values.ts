import type { WeightedNoise } from '../../../core/mechanisms/noise/weighted-noise.ts'
import type { Expression } from '../parsing/statement.ts'

/* The values that rows of a result are made from: those of one group, and what is computed from them. */

/** A value of a row of the result. */
export type Cell = string | number | boolean | null

/** Type of a column of the rows. */
export type CellType = 'text' | 'number' | 'integer' | 'boolean' | 'date' | 'timestamp'

/** A noisy value, and its half-width if it is known. */
export interface MeasuredValue {
  readonly value: Cell
  readonly halfWidth: number | null
  /** Returns the half-width within which `parts` values are at once, with the confidence of the answer. */
  readonly among: (parts: number) => number | null
  /** Its error as a sum of noises that no other group has, one object for all groups; absent if it is no such sum. */
  readonly error?: readonly WeightedNoise[]
}

/** One group: the values by which it is grouped, and the values of the aggregates. */
export interface Group {
  readonly keys: readonly Cell[]
  readonly measured: readonly MeasuredValue[]
  readonly all: Groups
}

/** The groups among which windows look. */
export interface Groups {
  /** Those that HAVING keeps. */
  readonly kept: readonly Group[]
  /** Number of the groups that HAVING chooses from. */
  readonly declared: number
  /** The probability with which a value may be farther from the true one than its half-width. */
  readonly alpha: number
}

/** No groups, for values of cells in which there are no windows. */
export const NO_GROUPS: Groups = { kept: [], declared: 0, alpha: 0 }

/** Returns the groups for which a condition is true, as all groups that there are. */
export function keptBy(groups: readonly Group[], isKept: (group: Group) => boolean | null): readonly Group[] {
  const kept: Group[] = []
  for (const group of groups) if (isKept(group) === true) kept.push({ ...group, all: { ...group.all, kept } })
  return kept
}

/** Where a true number lies. */
export interface Range {
  readonly lower: number
  readonly upper: number
}

/** A value that is computed from those of a group. */
export interface Computed {
  readonly type: CellType
  /** The noisy values that it is made from, by their names. None: the value is exact. */
  readonly noisy: ReadonlySet<string>
  readonly valueFor: (group: Group) => Cell
  /**
   * Returns where the true number lies if `parts` noisy values are all within their half-widths; `undefined` if that is not
   * known.
   */
  readonly rangeFor: (group: Group, parts: number) => Range | undefined
}

/** A value of a group: one by which it is grouped, that of an aggregate, or one computed from these. */
export type Slot = { readonly type: CellType } & (
  | { readonly key: number }
  /** `inUnitOfValue` is false if the half-width is that of a rank or of a time. */
  | { readonly measure: number; readonly inUnitOfValue: boolean }
  | { readonly computed: Computed }
)

/** Finds the value of an expression; throws a refusal for other expressions. */
export type Slots = (expression: Expression) => Slot

/** Returns the value of a group in a slot; null if there is none. */
export function valueIn(group: Group, slot: Slot): Cell {
  if ('computed' in slot) return slot.computed.valueFor(group)
  return 'key' in slot ? (group.keys[slot.key] ?? null) : (group.measured[slot.measure]?.value ?? null)
}

/** True if a value has noise. */
export function isNoisy(slot: Slot): boolean {
  return 'computed' in slot ? slot.computed.noisy.size > 0 : 'measure' in slot
}
