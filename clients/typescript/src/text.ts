import type { Amount, Answer, CellLabel, Estimate, Row } from './answers.ts'

/** Returns an estimate that `String` and templates show with its half-width: `2,531 ± 30`. */
export function printable<Shown extends Omit<Estimate, 'confidence'>>(estimate: Shown): Shown {
  return withText(estimate, () => estimateText(estimate))
}

/** Returns an answer that `String` shows with half-widths, confidence, price and remaining budget. */
export function printableAnswer(answer: Answer): Answer {
  return withText(answer, () =>
    [...valuesText(answer), ...noteTexts(answer).map((note) => `(${note})`)].join('\n'),
  )
}

/** Returns a row that `String` shows with its key and its statistics: `F: n 10 ± 3, pay 5 ± 1`. */
export function printableRow<Shown extends Row>(row: Shown): Shown {
  return withText(row, () => rowText(row))
}

/** Gives an object a `toString` that is not among its enumerable fields, so that copies and comparisons do not see it. */
function withText<Shown extends object>(shown: Shown, text: () => string): Shown {
  return Object.defineProperty(shown, 'toString', { value: text })
}

function valuesText(answer: Answer): readonly string[] {
  if ('rows' in answer) return answer.rows.map(rowText)
  if ('tables' in answer)
    return answer.tables.map(
      ({ columns, cells, halfWidth }) =>
        `${columns.join(' and ')}: ${cells} cells ± ${numberText(halfWidth)}`,
    )
  if ('intercept' in answer)
    return Object.entries({ intercept: answer.intercept, ...answer.coefficients }).map(
      ([name, estimate]) => `${name}: ${estimateText(estimate)}`,
    )
  if ('selected' in answer)
    return answer.selected.map(({ candidate }, place) => `${place + 1}. ${labelText(candidate)}`)
  if ('percentiles' in answer)
    return answer.percentiles.map(({ p, value }) => `${p}%: ${estimateText({ ...answer, value })}`)
  if ('keys' in answer) return [answer.keys.map(({ key }) => key).join(', ') || 'no key']
  if ('value' in answer) return [estimateText(answer)]
  // A kind that this package does not know.
  return [JSON.stringify((answer as Answer).raw.result)]
}

function rowText({ key, values }: Row): string {
  const statistics = Object.entries(values).map(([name, estimate]) => `${name} ${estimateText(estimate)}`)
  const labels = Object.values(key).map(labelText).join(' / ')
  return `${labels === '' ? '' : `${labels}: `}${statistics.join(', ')}`
}

/** Returns value and half-width with as many fractional digits as two significant digits of the half-width need. */
export function estimateText({ value, halfWidth, unit }: Omit<Estimate, 'confidence'>): string {
  if (halfWidth === null) return numberText(value)
  if (unit === 'rows' || unit === 'people')
    return `${numberText(value)} (rank ± ${numberText(halfWidth)} ${unit})`
  if (unit !== undefined) return `${value} ± ${numberText(halfWidth)} ${unit}`
  const whole = halfWidth === 0 || (Number.isInteger(value) && Number.isInteger(halfWidth))
  const digits = whole ? undefined : Math.min(20, Math.max(0, 1 - Math.floor(Math.log10(halfWidth))))
  return `${numberText(value, digits)} ± ${numberText(halfWidth, digits)}`
}

function numberText(value: number | string, digits?: number): string {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits ?? 6 }
  return typeof value === 'string' ? value : value.toLocaleString('en', options)
}

function labelText(label: CellLabel): string {
  if (label === null || typeof label !== 'object') return String(label)
  return `[${label.lower}, ${label.upper}${'upperIncluded' in label && label.upperIncluded ? ']' : ')'}`
}

function noteTexts(answer: Answer): readonly string[] {
  return [...(answer.inference === undefined ? [] : [answer.inference.statement]), costText(answer)]
}

function costText({ confidence, price, budgetLeft, replayed, dummy }: Answer): string {
  const paid = dummy ? 'from made-up rows, would cost' : replayed ? 'replayed, paid' : 'price'
  const left = replayed ? 'left then' : 'left'
  return `${Number((confidence * 100).toFixed(6))}% confidence · ${paid}: ${amountText(price)} · ${left}: ${amountText(budgetLeft)}`
}

/** Returns an amount such as `epsilon 0.1`. */
export function amountText(amount: Amount): string {
  if ('rho' in amount) return `rho ${amount.rho}`
  return `epsilon ${amount.epsilon}${amount.delta > 0 ? `, delta ${amount.delta}` : ''}`
}
