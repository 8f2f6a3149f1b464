import { loadParser, ParserFailure } from '../../answers/sql/parsing/parser.ts'
import { computation } from '../../platform/threads/computation.ts'
import { refuseField } from '../../privacy/refusal.ts'
import type { Literal } from './parameters.ts'
import { readCommands } from './reader.ts'

/** Reads the statements of a text. */
export const commands = computation(
  ({ text, values }: { readonly text: string; readonly values?: readonly Literal[] }) =>
    readCommands(text, values),
  loadParser,
  (error) =>
    error instanceof ParserFailure || error instanceof RangeError
      ? refuseField('sql-not-supported', 'sql', 'could not be parsed. Write a shorter statement.')
      : undefined,
)
