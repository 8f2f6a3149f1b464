import { type AnswerPart, labelText, type StoredDocument, valueText } from '../../answers/answer-text.ts'
import { tableAnswer } from '../../answers/marginals.ts'
import { type AskedQuestion, questionText } from '../../answers/question-text.ts'

/** A value of an answer that can be subtracted from another. */
export interface ComparedValue {
  /** Name by which the values of two answers are matched: the cell or group, and the statistic. Empty for a single value. */
  readonly label: string
  /** The value; days or seconds since 1970 for dates and timestamps. */
  readonly number: number
  readonly shown: string
  /** Bound on the noise of the value, in its unit. Null if no bound in that unit is known. */
  readonly halfWidth: number | null
  readonly confidence: number
  readonly unit?: 'days' | 'seconds'
}

/** Difference between a value and the same value of another answer. */
export interface Difference {
  readonly label: string
  readonly one: ComparedValue
  readonly other: ComparedValue
  /** The other minus the one. */
  readonly difference: number
  /** Bound on the noise of the difference. Null if one of the values has none. */
  readonly halfWidth: number | null
  /** Probability with which the bound holds, at least. */
  readonly confidence: number
  /** `noise`: the noise alone can explain the difference. `larger`: it cannot. `unknown`: there is no bound. */
  readonly verdict: 'noise' | 'larger' | 'unknown'
  readonly unit?: 'days' | 'seconds'
}

/** Two answers side by side. */
export interface Comparison {
  readonly differences: readonly Difference[]
  /** Labels of values that only one of the answers has. */
  readonly unmatched: readonly string[]
}

/**
 * Compares the values of two answers by their labels. The noise of a difference is at most the sum of both half-widths
 * unless one of them fails, so that the sum holds with a probability of at least 1 - (1 - c1) - (1 - c2) (the union
 * bound; decision 54). This needs no assumption about the noise, or about how the answers depend on each other.
 */
export function compareAnswers(one: StoredDocument, other: StoredDocument): Comparison {
  const ones = new Map(valuesOf(one).map((value) => [value.label, value]))
  const others = new Map(valuesOf(other).map((value) => [value.label, value]))
  const differences: Difference[] = []
  for (const [label, value] of ones) {
    const match = others.get(label)
    if (match !== undefined && match.unit === value.unit) differences.push(differenceOf(value, match))
  }
  const matched = new Set(differences.map(({ label }) => label))
  const unmatched = [...new Set([...ones.keys(), ...others.keys()])].filter((label) => !matched.has(label))
  return { differences, unmatched }
}

function differenceOf(one: ComparedValue, other: ComparedValue): Difference {
  const difference = other.number - one.number
  const halfWidth =
    one.halfWidth === null || other.halfWidth === null ? null : one.halfWidth + other.halfWidth
  return {
    label: one.label,
    one,
    other,
    difference,
    halfWidth,
    confidence: Math.max(0, 1 - (1 - one.confidence) - (1 - other.confidence)),
    verdict: halfWidth === null ? 'unknown' : Math.abs(difference) > halfWidth ? 'larger' : 'noise',
    ...(one.unit === undefined ? {} : { unit: one.unit }),
  }
}

/** Returns the values of an answer that are numbers, dates or timestamps. Selections and sessions have none. */
export function valuesOf(document: StoredDocument): readonly ComparedValue[] {
  if ('answers' in document)
    return document.answers.flatMap((part, place) => {
      const question = document.question?.queries[place] as AskedQuestion | undefined
      const name = question === undefined ? `${place + 1}` : `${place + 1}. ${questionText(question)}`
      return partValues(part).map((value) => ({ ...value, label: labelOf([name, value.label]) }))
    })
  return 'result' in document ? partValues(document) : []
}

function partValues({ result, accuracy }: Pick<AnswerPart, 'result' | 'accuracy'>): readonly ComparedValue[] {
  const { confidence, halfWidth, unit } = accuracy
  const compared = (
    label: string,
    value: number | string,
    bound: number | null,
    boundUnit: string | undefined = unit,
  ) => {
    // The half-width of a quantile is a number of rows: it bounds no difference of values.
    const isRank = boundUnit === 'rows' || boundUnit === 'people'
    return comparedValue(label, value, isRank ? null : bound, confidence, boundUnit)
  }
  if ('value' in result) return [compared('', result.value, halfWidth)]
  if ('cells' in result) return result.cells.map(({ key, value }) => compared(keyText(key), value, halfWidth))
  if ('groups' in result)
    return result.groups.flatMap(({ key, values }) =>
      Object.entries(values).map(([name, estimate]) =>
        compared(
          labelOf([keyText(key), name]),
          estimate.value,
          estimate.halfWidth,
          estimate.unit ?? accuracy.estimates?.[name]?.unit,
        ),
      ),
    )
  if ('coefficients' in result)
    return [{ column: 'intercept', ...result.intercept }, ...result.coefficients].map((each) =>
      compared(each.column, each.value, each.halfWidth),
    )
  if ('percentiles' in result)
    return result.percentiles.map(({ p, value }) => compared(`${p}%`, value, halfWidth))
  if ('tables' in result)
    return result.tables.flatMap((table) => {
      const own = tableAnswer({ accuracy }, result, table, table.values)
      return own === undefined ? [] : partValues(own)
    })
  if ('keys' in result)
    return result.keys.flatMap(({ key, count }) =>
      count === undefined ? [] : [comparedValue(key, count, halfWidth, confidence)],
    )
  return []
}

function comparedValue(
  label: string,
  value: number | string,
  halfWidth: number | null,
  confidence: number,
  boundUnit?: string,
): ComparedValue {
  const shown = valueText(value)
  if (typeof value === 'number') return { label, number: value, shown, halfWidth, confidence }
  const unit = value.includes('T') || boundUnit === 'seconds' ? 'seconds' : 'days'
  const number = Date.parse(value) / (unit === 'seconds' ? 1_000 : 86_400_000)
  return { label, number, shown, halfWidth, confidence, unit }
}

function keyText(key: Readonly<Record<string, Parameters<typeof labelText>[0]>>): string {
  return Object.entries(key)
    .map(([column, label]) => `${column}: ${labelText(label)}`)
    .join(', ')
}

function labelOf(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(', ')
}

/** Fields of a question that change its price and its noise, or how its answer is shown, but not what is asked. */
const TERMS = [
  'epsilon',
  'rho',
  'delta',
  'accuracy',
  'supposed',
  'mechanism',
  'calibration',
  'objective',
  'weights',
  'nextEpsilon',
  'postprocess',
]

/** True if the questions of two answers differ at most in price, noise and post-processing. */
export function asksTheSame(one: StoredDocument, other: StoredDocument): boolean {
  return subjectOf(one.question) === subjectOf(other.question)
}

function subjectOf(question: object | undefined): string {
  const { queries } = (question ?? {}) as AskedQuestion
  if (Array.isArray(queries)) return JSON.stringify(queries.map(subjectOf))
  return JSON.stringify(Object.entries(question ?? {}).filter(([name]) => !TERMS.includes(name)))
}
