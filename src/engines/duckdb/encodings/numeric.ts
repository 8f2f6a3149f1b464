import { BIGINT } from '@duckdb/node-api'
import type { NumericColumn } from '../../../catalog/dataset.ts'
import { type Encoding, type Layer, numberTextOf, type SourceColumn, trimmed } from './encoding.ts'
import { fastLayers, isAlwaysFast } from './numeric-fast.ts'

/** The fractional digits of a tick, to which literals are cut: enough to distinguish both sides of every half step. */
const TICK_FRACTION_DIGITS = 10
const TICKS_PER_NANO = 10n

/**
 * Stores numbers as BIGINT: floor(x / step + 1/2) within the bounds. A valid value is a decimal literal or an infinity
 * (which is clamped), with white space around it; in an `integer` column its value is whole, as in `42`, `42.0` and
 * `4.2e1`. DuckDB's own casts from text decide nothing alone: they also accept `0x10` and `1_000`, and round.
 *
 * Most values take a path without texts or 128-bit arithmetic; see `numeric-fast.ts`. The others are read digit by
 * digit.
 */
export function encodeNumber(column: NumericColumn, source: SourceColumn): Encoding {
  const fast = fastLayers(column, source)
  const text = trimmed(numberTextOf(source))
  if (fast.length === 0) return encodeDigits(column, source.position, text)
  const done = `fast${source.position}`
  if (isAlwaysFast(source)) return { layers: fast, stored: done, storedType: BIGINT }
  const slow = encodeDigits(column, source.position, `CASE WHEN ${done} IS NULL THEN ${text} END`)
  const stored = `CASE WHEN ${done} IS NOT NULL THEN ${done} ELSE ${slow.stored} END`
  return { ...slow, layers: [...fast, ...slow.layers], stored }
}

/** Reads every value digit by digit, for any column with a computable range. */
export function encodeDigits(column: NumericColumn, i: number, text: string): Encoding {
  return {
    layers: [{ [`text${i}`]: text }, literalLayer(i), scaledLayer(i), ticksLayer(column, i)],
    stored: indexOfTicks(column, i),
    storedType: BIGINT,
  }
}

/** Takes a literal apart: +-(digits of whole and fraction) * 10^power. NULL for a text that is no literal. */
function literalLayer(i: number): Layer {
  return {
    [`literal${i}`]: `CASE WHEN regexp_full_match(text${i}, '[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?')
      THEN regexp_extract(text${i}, '^[+-]?([0-9]*)\\.?([0-9]*)([eE]([+-]?[0-9]+))?$', ['whole', 'fraction', 'tail', 'exponent'])
    END`,
    [`negative${i}`]: `starts_with(text${i}, '-')`,
    [`infinite${i}`]: `coalesce(regexp_full_match(text${i}, '[+-]?inf(inity)?', 'i'), false)`,
  }
}

function scaledLayer(i: number): Layer {
  return {
    [`digits${i}`]: `ltrim(literal${i}.whole || literal${i}.fraction, '0')`,
    // An exponent beyond 64 bits is replaced by one beyond the length of every field, which has the same effect.
    [`power${i}`]: `CASE
      WHEN literal${i}.exponent = '' THEN 0
      ELSE least(greatest(coalesce(
        TRY_CAST(literal${i}.exponent AS BIGINT),
        CASE WHEN starts_with(literal${i}.exponent, '-') THEN -1000000000000 ELSE 1000000000000 END
      ), -1000000000000), 1000000000000)
    END - length(literal${i}.fraction)`,
  }
}

function ticksLayer(column: NumericColumn, i: number): Layer {
  const shift = `(power${i} + ${TICK_FRACTION_DIGITS})`
  const trailingZeros = `(length(digits${i}) - length(rtrim(digits${i}, '0')))`
  return {
    // NULL for a magnitude beyond HUGEINT, and so beyond the bounds.
    [`ticks${i}`]: `TRY_CAST(CASE
      WHEN digits${i} = '' THEN '0'
      WHEN ${shift} > 38 THEN NULL
      WHEN ${shift} >= 0 THEN digits${i} || repeat('0', least(${shift}, 38))
      WHEN length(digits${i}) + ${shift} <= 0 THEN '0'
      ELSE left(digits${i}, length(digits${i}) + ${shift})
    END AS HUGEINT)`,
    [`cut${i}`]: `digits${i} <> '' AND ${shift} + ${trailingZeros} < 0`,
    [`fits${i}`]:
      column.type === 'integer'
        ? `infinite${i} OR (literal${i} IS NOT NULL AND (digits${i} = '' OR power${i} + ${trailingZeros} >= 0))`
        : `infinite${i} OR literal${i} IS NOT NULL`,
  }
}

function indexOfTicks(column: NumericColumn, i: number): string {
  const step = column.stepNano * TICKS_PER_NANO
  const lower = column.lowerIndex * step
  const upper = column.upperIndex * step
  const bound = `CASE WHEN negative${i} THEN ${huge(lower)} ELSE ${huge(upper)} END`
  // Cutting digits off rounds towards zero; for negative numbers the floor is one less.
  const floor = `CASE WHEN NOT negative${i} THEN ticks${i} WHEN cut${i} THEN -ticks${i} - 1 ELSE -ticks${i} END`
  const clamped = `CASE
        WHEN infinite${i} OR ticks${i} IS NULL THEN ${bound}
        ELSE least(greatest(${floor}, ${huge(lower)}), ${huge(upper)})
      END`
  // Counted from the lower bound, no number is negative, so that integer division is the floor.
  const steps = `(2 * (${clamped} - ${huge(lower)}) + ${huge(step)}) // ${huge(2n * step)}`
  return `CASE WHEN fits${i} THEN CAST(${huge(column.lowerIndex)} + ${steps} AS BIGINT) END`
}

function huge(value: bigint): string {
  return `${value}::HUGEINT`
}
