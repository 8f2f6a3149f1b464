import { entry } from '../../privacy/must.ts'
import type { RefusalCode } from '../../privacy/problems.ts'
import { Refusal } from '../../privacy/refusal.ts'

/** Largest number of characters of a statement that a refusal repeats. */
const LONGEST_EXCERPT = 40

/** A place in the text of a statement. */
export interface Place {
  /** Both count from 1; the column counts characters (Unicode code points). */
  readonly line: number
  readonly column: number
  /** Beginning of the text there. */
  readonly text: string
}

/** Returns the place of a byte offset in UTF-8. */
export function placeOf(statement: string, at: number): Place {
  const bytes = Buffer.from(statement)
  const before = bytes.subarray(0, at).toString()
  const lines = before.split('\n')
  const last = entry(lines, lines.length - 1)
  return {
    line: lines.length,
    column: [...last].length + 1,
    text: excerpt(bytes.subarray(at).toString()),
  }
}

/** Returns the byte offset in UTF-8 of a character, counted in Unicode code points. */
export function offsetOfCharacter(statement: string, characters: number): number {
  return Buffer.byteLength([...statement].slice(0, characters).join(''))
}

/** The first line of a text, or as many of its words as fit. */
function excerpt(text: string): string {
  const [line = ''] = text.trimStart().split(/[\r\n]/, 1)
  const characters = [...line]
  if (characters.length <= LONGEST_EXCERPT) return line.trimEnd()
  const cut = characters.slice(0, LONGEST_EXCERPT).join('')
  const words = cut.slice(0, Math.max(cut.lastIndexOf(' '), 0)).trimEnd()
  return words === '' ? cut : words
}

/**
 * Creates the refusal of a part of a statement. The rule names the place, and the problem document has it as `line`,
 * `column` and `text`.
 * @param at byte offset of the part. Default: the beginning of the statement
 */
export function refusePart(
  statement: string,
  at: number | undefined,
  code: RefusalCode,
  rule: string,
): Refusal {
  const { line, column, text } = placeOf(statement, at ?? 0)
  const where = text === '' ? 'at the end' : `at "${text}"`
  const placed = `line ${line}, column ${column}, ${where}: ${rule}`
  return new Refusal(code, `sql: ${placed}`, [{ field: 'sql', rule: placed }], { line, column, text })
}
