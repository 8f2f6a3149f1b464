import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { sha256 } from '../../ledger/canonical.ts'
import {
  type ChangedNote,
  readDocuments,
  readNoted,
  type SignedNote,
} from '../../ledger/protocol/verifier/noted-events.ts'
import { Misuse } from '../command.ts'

/** A published head, or the receipt of an answer, read from a file. */
export interface EventNote extends SignedNote {
  readonly file: string
}

/** A head, a receipt or an answer of a file that was changed. */
export interface ChangedFile extends ChangedNote {
  readonly file: string
}

/**
 * Reads published heads, receipts, and answers with their receipts: one JSON document, or JSON Lines.
 * @param dataset the dataset of a receipt that names none
 * @throws Misuse for a file that holds anything else.
 */
export function readNotes(file: string, dataset: string | undefined): readonly (EventNote | ChangedFile)[] {
  const text = readText(file)
  try {
    return readDocuments(text).map(({ document, text: bytes }) => ({
      file,
      ...readNoted(document, { dataset, answerHash: sha256(bytes) }),
    }))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const advice = error.message === 'names no dataset' ? '; name it with --dataset' : ''
    throw new Misuse(`${file}: ${error.message}${advice}`)
  }
}

/**
 * Reads a file of UTF-8 text.
 * @throws Misuse for other bytes: they would be replaced, and the hash would be that of another text.
 */
export function readText(file: string): string {
  const bytes = readFileSync(file)
  if (!isUtf8(bytes)) throw new Misuse(`${file}: is not UTF-8`)
  return bytes.toString()
}
