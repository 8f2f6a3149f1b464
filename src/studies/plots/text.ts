/**
 * Cleans a text for a plot: one line of characters that XML allows, without characters that change the writing
 * direction or stack marks.
 */
export function plainText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Noncharacter_Code_Point}]/gu, '')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .trim()
}

/** Widths in units of the font size: those of DejaVu Sans, which is wider than most. */
const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/\p{M}|\u200d/u, 0],
  [/[\p{Extended_Pictographic}\p{Regional_Indicator}]/u, 1.4],
  [/[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]|[\u{20000}-\u{3ffff}]/u, 1.05],
  [/[iljI.,:;'|!]/, 0.34],
  [/[ tfr()[\]{}\-"/\\]/, 0.46],
  [/[mwMW@%…]/, 1],
  [/[A-Z+=<>±~^#&]/, 0.8],
  [/[ -~]/, 0.64],
]

/** Estimated width of a line of text in pixels; an overestimate for most fonts. */
export function textWidth(text: string, fontSize: number, bold = false): number {
  let ems = 0
  for (const character of text) ems += WIDTHS.find(([characters]) => characters.test(character))?.[1] ?? 0.85
  return ems * fontSize * (bold ? 1.12 : 1)
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Shortens a plain text to at most this width; a shortened text ends in an ellipsis. */
export function shortened(text: string, mostPixels: number, fontSize: number, bold = false): string {
  const plain = plainText(text)
  let kept = ''
  for (const { segment } of graphemes.segment(plain)) {
    if (textWidth(`${kept}${segment}…`, fontSize, bold) > mostPixels)
      return textWidth(plain, fontSize, bold) <= mostPixels ? plain : `${kept.trimEnd()}…`
    kept += segment
  }
  return plain
}

const NUMBERS = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 })
const WHOLE_NUMBERS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** A number for display: integers in full, others to four digits, very small and large ones with an exponent. */
export function numberText(value: number): string {
  const size = Math.abs(value)
  if (needsExponent(size)) return signed(value, withExponent(size, 4))
  return signed(value, (size >= 1000 ? WHOLE_NUMBERS : NUMBERS).format(size))
}

/** Number of significant digits at which two doubles never have the same text. */
const MOST_DIGITS = 17

/**
 * A number with the digits that distinguish it from others at a distance of `apart`, and two more, if a double has
 * that many.
 */
export function numberTextNear(value: number, apart: number): string {
  const size = Math.abs(value)
  const telling = apart > 0 ? Math.ceil(Math.log10(Math.max(size, apart) / apart)) + 2 : 0
  const digits = Math.min(MOST_DIGITS, Math.max(telling, 4))
  const whole = Math.ceil(Math.log10(size + 1))
  const inFull = !needsExponent(size) || (size >= 1e15 && digits >= whole)
  if (!inFull) return signed(value, withExponent(size, digits))
  const maximumSignificantDigits = Math.min(MOST_DIGITS, Math.max(digits, whole))
  return signed(value, new Intl.NumberFormat('en-US', { maximumSignificantDigits }).format(size))
}

function needsExponent(size: number): boolean {
  return size !== 0 && (size < 1e-3 || size >= 1e15)
}

function withExponent(size: number, digits: number): string {
  return size.toExponential(digits - 1).replace(/\.?0*e\+?/, 'e')
}

/** Uses the same minus sign as the axes. */
function signed(value: number, digits: string): string {
  return value < 0 ? `\u2212${digits}` : digits
}

const MOST_BELOW_ALL = 99.99999999

/** A share as a percentage of up to ten digits, such as `95%`; only exactly 1 is `100%`. */
export function percentText(share: number): string {
  const percentage = Number((share * 100).toPrecision(10))
  return `${share < 1 ? Math.min(percentage, MOST_BELOW_ALL) : percentage}%`
}

/** Number format of an axis, for d3-format; undefined: in full. */
export function axisFormat(farthest: number, mostInFull: number): '~e' | '~s' | undefined {
  if (farthest >= 1e15 || (farthest > 0 && farthest < 1e-3)) return '~e'
  return farthest > mostInFull ? '~s' : undefined
}
