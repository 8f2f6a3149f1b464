import { BOOLEAN } from '@duckdb/node-api'
import { FALSE_WORDS, TRUE_WORDS } from '../../text-values.ts'
import { type Encoding, type SourceColumn, textOf, trimmed } from './encoding.ts'

/** Stores true, t, yes, y, 1, false, f, no, n and 0 in any case, with white space around them, as BOOLEAN. */
export function encodeBoolean(source: SourceColumn): Encoding {
  if (source.type === 'BOOLEAN') return { layers: [], stored: source.name, storedType: BOOLEAN }
  const [plain, text] = [`plain${source.position}`, `text${source.position}`]
  return {
    layers: [
      // The usual spellings need no work on the text.
      { [plain]: truthOf(textOf(source), capitalised) },
      { [text]: `CASE WHEN ${plain} IS NULL THEN lower(${trimmed(textOf(source))}) END` },
    ],
    stored: `CASE WHEN ${plain} IS NOT NULL THEN ${plain} ELSE ${truthOf(text, (word) => [word])} END`,
    storedType: BOOLEAN,
  }
}

function truthOf(text: string, spellings: (word: string) => readonly string[]): string {
  const list = (words: readonly string[]) =>
    words
      .flatMap(spellings)
      .map((word) => `'${word}'`)
      .join(', ')
  return `CASE WHEN ${text} IN (${list(TRUE_WORDS)}) THEN true WHEN ${text} IN (${list(FALSE_WORDS)}) THEN false END`
}

/** A word in lower case, capitalised, and in upper case. */
function capitalised(word: string): readonly string[] {
  return [...new Set([word, `${word.charAt(0).toUpperCase()}${word.slice(1)}`, word.toUpperCase()])]
}
