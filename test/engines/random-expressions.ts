import fc from 'fast-check'
import type { StoredRow, StoredValue } from './reference-engine.ts'

/*
 * Random expressions over the columns of `arbitraries.ts`, each with its value for a row by the definition: in rationals, and
 * with Date for dates.
 */

/** A value: a rational in the unit of the column, a truth, a text, or NULL. */
export type Computed = readonly [numerator: bigint, denominator: bigint] | boolean | string | null

/** An expression and its value. */
export interface Expressed {
  readonly text: string
  readonly compute: (row: StoredRow) => Computed
}

/** Steps of the columns, in 1e-9. */
const STEPS = { small: 1_000_000_000n, x: 1n, middling: 1_000_000_000n, day: 1n, hour: 3600n } as const
const NANO = 1_000_000_000n

type Number = readonly [bigint, bigint] | null

const whole = (value: StoredValue | undefined): bigint | null => (typeof value === 'bigint' ? value : null)
const numeric =
  (name: 'small' | 'x' | 'middling') =>
  (row: StoredRow): Number => {
    const index = whole(row[name])
    return index === null ? null : [index * STEPS[name], NANO]
  }
const asNumber = (value: Computed): Number => {
  if (value === null || typeof value === 'object') return value
  throw new Error('not a number')
}
const add = (one: Number, other: Number, sign = 1n): Number =>
  one === null || other === null ? null : [one[0] * other[1] + sign * other[0] * one[1], one[1] * other[1]]
const less = (one: readonly [bigint, bigint], other: readonly [bigint, bigint]) =>
  one[0] * other[1] * (one[1] * other[1] > 0n ? 1n : -1n) <
  other[0] * one[1] * (one[1] * other[1] > 0n ? 1n : -1n)
/** floor(x + 1/2) steps. */
const rounded = (value: Number, [n, d]: readonly [bigint, bigint]): Number => {
  if (value === null) return null
  const [top, bottom] = [2n * value[0] * d + value[1] * n, 2n * value[1] * n]
  const [dividend, divisor] = bottom < 0n ? [-top, -bottom] : [top, bottom]
  const floor = dividend >= 0n ? dividend / divisor : -((-dividend + divisor - 1n) / divisor)
  return [floor * n, d]
}

const constant = fc
  .tuple(fc.integer({ min: -40, max: 40 }), fc.constantFrom(1, 2, 4, 10))
  .map(([n, d]): { readonly text: string; readonly value: readonly [bigint, bigint] } => ({
    text: n < 0 ? `(${n / d})` : String(n / d),
    value: [BigInt(n), BigInt(d)],
  }))
const positive = constant.filter(({ value }) => value[0] > 0n)

const dateOf = (row: StoredRow, name: 'day' | 'hour'): Date | null => {
  const index = whole(row[name])
  return index === null ? null : new Date(Number(index * (name === 'day' ? 86_400n : 3_600n)) * 1000)
}
const part = (text: string, name: 'day' | 'hour', of: (date: Date) => number): Expressed => ({
  text,
  compute: (row) => {
    const date = dateOf(row, name)
    return date === null ? null : [BigInt(of(date)), 1n]
  },
})
const parts = fc.constantFrom(
  ...(['day', 'hour'] as const).flatMap((name) => [
    part(`weekday(${name})`, name, (date) => ((date.getUTCDay() + 6) % 7) + 1),
    part(`MONTH(${name})`, name, (date) => date.getUTCMonth() + 1),
    part(`day(${name})`, name, (date) => date.getUTCDate()),
  ]),
  part('year(hour)', 'hour', (date) => date.getUTCFullYear()),
  part('quarter(hour)', 'hour', (date) => Math.floor(date.getUTCMonth() / 3) + 1),
  part('hour(hour)', 'hour', (date) => date.getUTCHours()),
  part(
    "(day - coalesce(day, '2024-03-01')) + weekday(day)",
    'day',
    (date) => ((date.getUTCDay() + 6) % 7) + 1,
  ),
)

const columns = fc
  .constantFrom(...(['small', 'x', 'middling'] as const))
  .map((name): Expressed => ({ text: name, compute: numeric(name) }))

const { number, condition } = fc.letrec<{ number: Expressed; condition: Expressed }>((tie) => ({
  number: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    { weight: 3, arbitrary: columns },
    parts,
    fc.tuple(tie('number'), tie('number'), fc.boolean()).map(
      ([one, other, isSum]): Expressed => ({
        text: `(${one.text}) ${isSum ? '+' : '-'} (${other.text})`,
        compute: (row) => add(asNumber(one.compute(row)), asNumber(other.compute(row)), isSum ? 1n : -1n),
      }),
    ),
    fc.tuple(tie('number'), constant).map(
      ([one, { text, value }]): Expressed => ({
        text: `${text} * (${one.text})`,
        compute: (row) => {
          const of = asNumber(one.compute(row))
          return of === null ? null : [of[0] * value[0], of[1] * value[1]]
        },
      }),
    ),
    fc.tuple(tie('number'), constant).map(
      ([one, { text, value }]): Expressed => ({
        text: `(${one.text}) - ${text}`,
        compute: (row) => add(asNumber(one.compute(row)), value, -1n),
      }),
    ),
    fc.tuple(tie('number'), fc.constantFrom(3n, 7n, -9n), positive).map(
      ([one, divisor, step]): Expressed => ({
        text: `round((${one.text}) / ${divisor}, ${step.text})`,
        compute: (row) => {
          const of = asNumber(one.compute(row))
          return rounded(of === null ? null : [of[0], of[1] * divisor], step.value)
        },
      }),
    ),
    fc.tuple(tie('number'), constant).map(
      ([one, { text, value }]): Expressed => ({
        text: `coalesce(${one.text}, ${text})`,
        compute: (row) => one.compute(row) ?? value,
      }),
    ),
    fc.tuple(tie('condition'), tie('number'), tie('number')).map(
      ([when, one, other]): Expressed => ({
        text: `case when ${when.text} then ${one.text} else ${other.text} end`,
        compute: (row) => (when.compute(row) === true ? one : other).compute(row),
      }),
    ),
  ),
  condition: fc.oneof(
    { maxDepth: 3, depthSize: 'medium' },
    fc.constant<Expressed>({ text: 'flag = true', compute: (row) => row.flag === true }),
    fc.constantFrom('a', "c'").map(
      (name): Expressed => ({
        text: `"group" in ('${name.replace("'", "''")}', 'b')`,
        compute: (row) => row.group === GROUPS.indexOf(name) || row.group === GROUPS.indexOf('b'),
      }),
    ),
    fc.tuple(tie('number'), constant).map(
      ([one, { text, value }]): Expressed => ({
        text: `${one.text} < ${text}`,
        compute: (row) => {
          const of = asNumber(one.compute(row))
          return of !== null && less(of, value)
        },
      }),
    ),
    tie('number').map(
      (one): Expressed => ({ text: `(${one.text}) is null`, compute: (row) => one.compute(row) === null }),
    ),
    tie('condition').map(
      (one): Expressed => ({ text: `not (${one.text})`, compute: (row) => one.compute(row) !== true }),
    ),
    fc.tuple(tie('condition'), tie('condition'), fc.boolean()).map(
      ([one, other, isAnd]): Expressed => ({
        text: `(${one.text}) ${isAnd ? 'AND' : 'or'} (${other.text})`,
        compute: (row) =>
          isAnd
            ? one.compute(row) === true && other.compute(row) === true
            : one.compute(row) === true || other.compute(row) === true,
      }),
    ),
  ),
}))

const GROUPS = ['a', 'b', "c'", '日本']

/** Expressions of numbers. */
export const numberExpression = number

/** Expressions of truths and texts. */
export const otherExpression: fc.Arbitrary<Expressed> = fc.oneof(
  condition.map((each): Expressed => ({ ...each, text: `(${each.text})` })),
  fc.tuple(condition, condition).map(
    ([one, other]): Expressed => ({
      text: `case when ${one.text} then 'one' when ${other.text} then 'it''s' end`,
      compute: (row) => (one.compute(row) === true ? 'one' : other.compute(row) === true ? "it's" : null),
    }),
  ),
)
