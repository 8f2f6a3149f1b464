import { computation } from '../../platform/threads/computation.ts'
import { refuseField } from '../../privacy/refusal.ts'
import { loadParser, ParserFailure, parseStatement } from './parsing/parser.ts'

/** Parses a SQL statement. */
export const sql = computation(
  ({ statement }: { readonly statement: string }) => parseStatement(statement),
  loadParser,
  (error) =>
    error instanceof ParserFailure
      ? refuseField(
          'sql-not-supported',
          'sql',
          'could not be parsed. Write a shorter statement, with less nesting.',
        )
      : undefined,
)
