import { parse } from 'secure-json-parse'
import { isSameDecimal } from '../../privacy/decimal.ts'
import { Refusal, refuseField } from '../../privacy/refusal.ts'

/**
 * Largest depth of nested objects and arrays. No valid request needs more, and the check runs before anything recurses.
 */
const MAX_DEPTH = 40

/**
 * Parses a JSON body.
 *
 * Every number must read back as what was written when it is stored as a double: `0.1` does,
 * `0.10000000000000000000001` and `1e400` do not. Such numbers become NaN, which every schema refuses, so that the
 * problem document names the field. Duplicate keys (RFC 8259 leaves their meaning open), keys that reach a prototype
 * and texts that are not well-formed Unicode are refused. See decision 1.
 *
 * @throws Refusal `malformed-json`
 */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') throw new Refusal('malformed-json', 'The body is empty. Send a JSON object.')
  try {
    requireUniqueKeys(text)
    return text.isWellFormed() && !UNUSUAL.test(text) ? parse(text) : parse(text, reviveExactly)
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal(
      'malformed-json',
      'The body is not valid JSON, or contains a forbidden key such as "__proto__" or a string that is not well-formed Unicode.',
    )
  }
}

/**
 * Finds texts that may contain an unpaired surrogate, as an escape sequence, or a number that a double does not represent:
 * with an exponent, or with 16 digits or more. Doubles represent all decimals of 15 digits.
 */
const UNUSUAL = /\\u|\d[eE]|[\d.]{16}/

function reviveExactly(key: string, value: unknown, context?: { source?: string }): unknown {
  // An unpaired surrogate has no UTF-8 encoding, so it could be neither hashed nor stored unchanged.
  if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed())) throw new SyntaxError()
  if (typeof value !== 'number' || context?.source === undefined) return value
  return isSameDecimal(context.source, String(value)) ? value : Number.NaN
}

/** An object or array that has not been closed yet. */
interface Container {
  /** Keys of an object that were seen; undefined for an array. */
  readonly keys?: Set<string>
  /** Key or index of the current member. */
  position: string | number
}

/** A string, with or without its closing quote so that matching stays linear, or a structural character. */
const TOKEN = /"(?:[^"\\]|\\.)*(?:"|$)|[{}[\]:,]/gs

/**
 * Checks depth and unique keys of a text that may not be JSON; the parser that follows finds all other errors.
 * @throws Refusal `malformed-json` naming the duplicate key, or the depth.
 * @throws SyntaxError for a key with an invalid escape sequence.
 */
function requireUniqueKeys(text: string): void {
  const open: Container[] = []
  let previous = ''
  for (const [token] of text.matchAll(TOKEN)) {
    const container = open.at(-1)
    switch (token) {
      case '{':
        open.push({ keys: new Set(), position: '' })
        break
      case '[':
        open.push({ position: 0 })
        break
      case '}':
      case ']':
        open.pop()
        break
      case ',':
        if (typeof container?.position === 'number') container.position += 1
        break
      case ':': {
        if (container?.keys === undefined) break
        const key: unknown = JSON.parse(previous)
        container.position = String(key)
        if (container.keys.has(container.position)) {
          const field = open.map(({ position }) => position).join('.')
          throw refuseField('malformed-json', field, 'must not appear more than once in an object')
        }
        container.keys.add(container.position)
      }
    }
    if (open.length > MAX_DEPTH)
      throw refuseField('malformed-json', 'body', `must be nested at most ${MAX_DEPTH} levels deep`)
    previous = token
  }
}
