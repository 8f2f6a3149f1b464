import { hasSqlDetails, loadModule, type Node, parseSync, type SelectStmt, scanSync } from 'libpg-query'
import { refuseField } from '../../../privacy/refusal.ts'
import { offsetOfCharacter, refusePart } from '../place.ts'
import { readStatement } from './reader.ts'
import type { Select } from './statement.ts'
import { requireAllowedSyntax } from './syntax.ts'

/** Loads PostgreSQL's parser (WebAssembly). */
export const loadParser = loadModule

/** The parser itself failed. Its memory may be damaged, so that it must not be used again. */
export class ParserFailure extends Error {}

/**
 * Parses a statement with PostgreSQL's grammar, and requires that it uses allowed syntax only.
 * @throws Refusal `invalid-request` for a text that is no SQL, and `sql-not-supported`
 * @throws ParserFailure for a text that the parser failed on
 */
export function parseStatement(text: string): Select {
  const [only, second] = placedStatements(text)
  if (only?.stmt === undefined) throw refuseField('invalid-request', 'sql', 'must contain a SELECT statement')
  if (second !== undefined) {
    throw refusePart(
      text,
      second.stmt_location,
      'sql-not-supported',
      'only one statement is supported. Send each by itself.',
    )
  }
  return readSelect(text, only.stmt)
}

/**
 * Parses the statements of a text, with every syntax of PostgreSQL.
 * @throws Refusal, ParserFailure as {@link parseStatement} does.
 */
export function parseText(text: string): readonly Node[] {
  return placedStatements(text).flatMap(({ stmt }) => stmt ?? [])
}

/**
 * Reads a SELECT statement, and requires that it uses allowed syntax only.
 * @throws Refusal `sql-not-supported`
 */
export function readSelect(text: string, node: Node): Select {
  requireAllowedSyntax(text, node, () =>
    guarded(() => scanSync(text)).tokens.map(({ text: name, start }) => ({
      name: name.toUpperCase(),
      start,
    })),
  )
  const { SelectStmt: select } = node as { readonly SelectStmt?: SelectStmt }
  if (select === undefined) throw refuseField('sql-not-supported', 'sql', 'only SELECT is supported')
  return readStatement(text, select)
}

function placedStatements(text: string) {
  try {
    return guarded(() => parseSync(text)).stmts ?? []
  } catch (error) {
    if (!hasSqlDetails(error)) throw error
    const { message, cursorPosition } = error.sqlDetails ?? { message: 'syntax error', cursorPosition: 0 }
    const at = offsetOfCharacter(text, Math.max(cursorPosition, 0))
    throw refusePart(text, at, 'invalid-request', `${message}.${hint(text, at)}`)
  }
}

/** Advice for texts that are often written. */
function hint(text: string, at: number): string {
  const rest = Buffer.from(text).subarray(at).toString()
  if (/^-\w/.test(rest)) return ' Names with other characters than letters, digits and _ need double quotes.'
  return ''
}

/** Distinguishes texts that the parser refuses from failures of the parser. */
function guarded<Result>(parse: () => Result): Result {
  try {
    return parse()
  } catch (error) {
    if (hasSqlDetails(error)) throw error
    if (error instanceof Error && error.message === 'Query cannot be empty')
      throw refuseField('invalid-request', 'sql', 'must contain a SELECT statement')
    throw new ParserFailure()
  }
}
