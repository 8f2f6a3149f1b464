import type { NumericColumn } from '../../../catalog/dataset.ts'
import { divideRoundingDown, greatestCommonDivisor } from '../../../privacy/rational.ts'
import { type Layer, numberTextOf, type SourceColumn } from './encoding.ts'

/** Integers up to this magnitude are exact in doubles. */
const LARGEST_EXACT_INTEGER = 2n ** 53n

/** A decimal of at most this many significant digits is the only such decimal that its nearest double stands for. */
const DISTINCT_DIGITS = 15

/** Integers of this magnitude can be computed with in 64 bits. */
const LARGEST_BIGINT = 2n ** 62n

/** DuckDB's integer types whose values can all be compared with 64-bit or 128-bit bounds. */
const COMPARED_AS: Readonly<Record<string, string>> = {
  TINYINT: 'BIGINT',
  SMALLINT: 'BIGINT',
  INTEGER: 'BIGINT',
  BIGINT: 'BIGINT',
  UTINYINT: 'BIGINT',
  USMALLINT: 'BIGINT',
  UINTEGER: 'BIGINT',
  UBIGINT: 'HUGEINT',
  HUGEINT: 'HUGEINT',
}

const NANO = 10n ** 9n

/**
 * Layers that end in `fast<i>`: the index to store, exact wherever it is not NULL. It is NULL for a value that needs
 * the general path, and so for every invalid value. No layers if the column's values all need it.
 */
export function fastLayers(column: NumericColumn, source: SourceColumn): readonly Layer[] {
  const i = source.position
  const comparedAs = COMPARED_AS[source.type]
  const layers =
    comparedAs === undefined ? layersOfDoubles(column, source) : layersOfIntegers(column, source, comparedAs)
  if (layers.length === 0) return []
  return [...layers, { [`fast${i}`]: clamp(`index${i}`, column.lowerIndex, column.upperIndex) }]
}

/** Returns true if the layers, where there are any, resolve every value that is not NULL. */
export function isAlwaysFast({ type }: SourceColumn): boolean {
  return COMPARED_AS[type] !== undefined
}

/** A column's step as a fraction in lowest terms, and the largest number of steps that a value near its bounds has. */
function gridOf({ stepNano, lowerIndex, upperIndex }: NumericColumn) {
  const divisor = greatestCommonDivisor(stepNano, NANO)
  const magnitudes = [lowerIndex, upperIndex].map((index) => (index < 0n ? -index : index))
  const largestIndex = magnitudes.reduce((most, each) => (each > most ? each : most)) + 2n
  return { numerator: stepNano / divisor, denominator: NANO / divisor, largestIndex }
}

/**
 * Integers, in 64-bit arithmetic: floor(x / (p/q) + 1/2) = floor((2 q x + p) / (2 p)), counted from below the smallest
 * index so that no dividend is negative and integer division is the floor.
 */
function layersOfIntegers(
  column: NumericColumn,
  { position: i, name }: SourceColumn,
  comparedAs: string,
  result = `index${i}`,
): readonly Layer[] {
  const { numerator: p, denominator: q, largestIndex } = gridOf(column)
  if (8n * largestIndex * p + 4n * q > LARGEST_BIGINT) return []
  const least = divideRoundingDown((column.lowerIndex - 1n) * p, q)
  const most = divideRoundingDown((column.upperIndex + 1n) * p, q) + 1n
  const clamped = `CAST(${clamp(`CAST(${name} AS ${comparedAs})`, least, most)} AS BIGINT)`
  const start = column.lowerIndex - 2n
  const index =
    p === 1n
      ? `${clamped} * ${q}`
      : `(${2n * q} * ${clamped} + ${p - 2n * p * start}) // ${2n * p} + ${start}`
  return [{ [result]: index }]
}

function layersOfDoubles(column: NumericColumn, source: SourceColumn): readonly Layer[] {
  const i = source.position
  if (doublesAreExact(column)) {
    const whole = column.type === 'integer' && source.type === 'VARCHAR' ? layersOfWhole(column, source) : []
    if (whole.length === 0)
      return [...doubleLayers(column, source), roundedDown(column, i), nearest(column, i)]
    const rest = `CASE WHEN whole${i} IS NULL THEN number${i} END`
    return [
      ...[...whole, ...doubleLayers(column, source, rest), roundedDown(column, i)],
      nearest(column, i, `wholeindex${i}`),
    ]
  }
  if (source.type === 'DOUBLE' || source.type === 'FLOAT') return []
  return layersOfPlainIntegers(column, source)
}

/**
 * `number<i>`: the text of the number. `whole<i>`: its value if the text is that of a 64-bit integer as DuckDB writes it,
 * which needs no regular expression. `wholeindex<i>`: the index of that.
 */
function layersOfWhole(column: NumericColumn, source: SourceColumn): readonly Layer[] {
  const i = source.position
  const [text, cast, whole] = [`number${i}`, `cast${i}`, `whole${i}`]
  const indexes = layersOfIntegers(column, { ...source, name: whole }, 'BIGINT', `wholeindex${i}`)
  if (indexes.length === 0) return []
  return [
    { [text]: numberTextOf(source) },
    { [cast]: `TRY_CAST(${text} AS BIGINT)` },
    { [whole]: `CASE WHEN CAST(${cast} AS VARCHAR) = ${text} THEN ${cast} END` },
    ...indexes,
  ]
}

/** Texts of at most 18 digits, for columns whose bounds are too wide for doubles. */
function layersOfPlainIntegers(column: NumericColumn, source: SourceColumn): readonly Layer[] {
  const [text, name] = [`raw${source.position}`, `parsed${source.position}`]
  const layers = layersOfIntegers(column, { ...source, name }, 'BIGINT')
  if (layers.length === 0) return []
  const parsed = `CASE WHEN regexp_full_match(${text}, '[+-]?[0-9]{1,18}') THEN TRY_CAST(${text} AS BIGINT) END`
  return [{ [text]: numberTextOf(source) }, { [name]: parsed }, ...layers]
}

/**
 * True if a double decides for every value on which side of a half step it lies.
 *
 * With n = floor(x / step) in doubles, the index is n or n + 1: it is n + 1 if the value d is at least the half step
 * h = (n + 1/2) step. Let x and H be the doubles nearest to d and h. Rounding is monotone, so that x > H implies d > h,
 * and x < H implies d < h. For x = H, d equals h if both have at most 15 significant digits, since such decimals have
 * different doubles.
 */
function doublesAreExact(column: NumericColumn): boolean {
  const { numerator, denominator, largestIndex } = gridOf(column)
  const doubledHalfStep = (2n * largestIndex + 1n) * numerator
  // Then the division that computes H has exact operands, and n is off by less than a quarter.
  const halfStepsAreNearest = doubledHalfStep < LARGEST_EXACT_INTEGER && largestIndex < 2n ** 49n
  let scale = 1n
  while ((numerator * scale) % (2n * denominator) !== 0n) scale *= 10n
  const largestDigits = (doubledHalfStep * scale) / (2n * denominator)
  return halfStepsAreNearest && largestDigits < 10n ** BigInt(DISTINCT_DIGITS)
}

/**
 * `double<i>`: the double nearest to the value, within the bounds and one step. NULL for a value that needs the general
 * path. `tie<i>`: true if the value equals every half step whose nearest double is `double<i>`.
 */
function doubleLayers(
  column: NumericColumn,
  source: SourceColumn,
  text = numberTextOf(source),
): readonly Layer[] {
  const { numerator, denominator } = gridOf(column)
  const i = source.position
  const edge = (index: bigint) => double(Number(index * numerator) / Number(denominator))
  const clamped = (value: string) =>
    `least(greatest(${value}, ${edge(column.lowerIndex - 1n)}), ${edge(column.upperIndex + 1n)})`
  const usable = (condition: string) => `CASE WHEN ${condition} THEN ${clamped(`parsed${i}`)} END`
  const finite = `isfinite(parsed${i})`
  // A whole double below 2^53 stands for a whole decimal, if that is the shortest or has at most 15 digits.
  const whole = `abs(parsed${i}) < ${double(2 ** 53)} AND floor(parsed${i}) = parsed${i}`
  const valid = column.type === 'integer' ? `${finite} AND ${whole}` : finite
  if (source.type === 'DOUBLE') {
    // The value is the shortest decimal that reads back as the double. A half step of 15 digits is shorter than others.
    return [{ [`parsed${i}`]: source.name }, { [`double${i}`]: usable(valid), [`tie${i}`]: 'true' }]
  }
  const short = `length(raw${i}) <= ${DISTINCT_DIGITS}`
  const literal =
    column.type === 'integer'
      ? `${short} AND regexp_full_match(raw${i}, '[+-]?[0-9]+(\\.[0-9]*)?')`
      : `regexp_full_match(raw${i}, '[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?')`
  return [
    { [`raw${i}`]: text },
    { [`parsed${i}`]: `CASE WHEN ${literal} THEN TRY_CAST(raw${i} AS DOUBLE) END`, [`tie${i}`]: short },
    { [`double${i}`]: usable(valid) },
  ]
}

function roundedDown(column: NumericColumn, i: number): Layer {
  const { numerator, denominator } = gridOf(column)
  return { [`floor${i}`]: `floor(double${i} / ${double(Number(numerator) / Number(denominator))})` }
}

/** `index<i>`: the index that another layer found, or that of the double. */
function nearest(column: NumericColumn, i: number, found?: string): Layer {
  const { numerator, denominator } = gridOf(column)
  const half = `((2 * floor${i} + 1) * ${double(Number(numerator))} / ${double(Number(2n * denominator))})`
  const index = `CAST(floor${i} AS BIGINT) + CASE WHEN double${i} >= ${half} THEN 1 ELSE 0 END`
  const ofDouble = `CASE WHEN tie${i} OR double${i} <> ${half} THEN ${index} END`
  return { [`index${i}`]: found === undefined ? ofDouble : `coalesce(${found}, ${ofDouble})` }
}

/** A number within bounds; NULL for NULL, which `least` and `greatest` would ignore. */
function clamp(value: string, least: bigint, most: bigint): string {
  return `CASE WHEN ${value} < ${least} THEN ${least} WHEN ${value} > ${most} THEN ${most} ELSE ${value} END`
}

/** A double as a literal. A literal with a decimal point would be a DECIMAL. */
function double(value: number): string {
  return `CAST('${value}' AS DOUBLE)`
}
