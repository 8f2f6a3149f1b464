import { parse } from 'secure-json-parse'
import { Refusal, refuseField } from '../privacy/refusal.ts'

/** Deeper bodies than any request needs are turned away before anything walks them. */
const MAX_DEPTH = 40

/**
 * The value of a JSON body.
 *
 * Every number must be one that a double stands for exactly, in the sense that it reads back as what was written:
 * `0.1` does, `0.10000000000000000000001` and `1e400` do not. Those become NaN, which no schema takes, so that the
 * refusal can name the field. Keys that would reach a prototype and texts that are not well-formed are refused.
 *
 * @throws Refusal `malformed-json`
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') throw new Refusal('malformed-json', 'The body is empty; a JSON object is needed.')
  if (isDeeperThan(text, MAX_DEPTH)) {
    throw refuseField('malformed-json', 'body', `must be nested at most ${MAX_DEPTH} levels deep`)
  }
  try {
    return parse(text, reviveExactly)
  } catch {
    throw new Refusal(
      'malformed-json',
      'The body is not valid JSON, has a forbidden key such as "__proto__", or a text that is not well-formed Unicode.',
    )
  }
}

function reviveExactly(key: string, value: unknown, context?: { source?: string }): unknown {
  // Half a surrogate pair has no UTF-8, so it could be neither hashed nor stored as what it is.
  if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed())) throw new SyntaxError()
  if (typeof value !== 'number' || context?.source === undefined) return value
  return isSameDecimal(context.source, String(value)) ? value : Number.NaN
}

/** Longer numbers mean nothing here, and comparing them could be made to take long. */
const LONGEST_LITERAL = 64

/** Whether two number literals write the same decimal, however they write it. */
function isSameDecimal(a: string, b: string): boolean {
  if (a === b) return true
  if (a.length > LONGEST_LITERAL) return false
  const [left, right] = [normalForm(a), normalForm(b)]
  return left !== undefined && left === right
}

/** Sign, significant digits without zeros at either end, and the exponent of the last digit. */
function normalForm(literal: string): string | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,6}))?$/.exec(literal)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0
  let inString = false
  for (let position = 0; position < text.length; position += 1) {
    const character = text[position]
    if (inString) {
      if (character === '\\') position += 1
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') {
      depth += 1
      if (depth > limit) return true
    } else if (character === '}' || character === ']') depth -= 1
  }
  return false
}
