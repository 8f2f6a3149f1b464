import { isSameDecimal } from '../privacy/decimal.ts'

/** The rule for numbers that {@link exactNumber} does not accept. */
export const EXACT_NUMBER_RULE =
  'must be a decimal number of at most 15 significant digits, such as 0.5 or 1e-6'

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * Returns the number that a decimal literal denotes, if JSON text for it denotes the same decimal. The service reads the
 * shortest decimal of a double, so that such a number arrives as it was typed. Undefined for every other text.
 */
export function exactNumber(text: string): number | undefined {
  if (!DECIMAL.test(text)) return undefined
  const literal = text
    .replace(/^\+/, '')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.(?=$|e)/i, '')
  const number = Number(literal)
  return isSameDecimal(literal, String(number)) ? number : undefined
}
