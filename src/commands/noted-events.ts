import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { sha256 } from '../ledger/canonical.ts'
import type { NotedAnswer, NotedEvent } from '../ledger/exported.ts'
import { Misuse } from './command.ts'

/** A published head, or the receipt of an answer, read from a file. */
export interface EventNote {
  readonly file: string
  readonly noted: NotedEvent
  readonly signature?: string
}

/**
 * Reads published heads: a JSON document with one head, or JSON Lines.
 * @throws Misuse for a file that holds anything else.
 */
export function readHeads(file: string): readonly EventNote[] {
  const text = readText(file)
  const documents = parseLines(text) ?? [parseJson(file, text)]
  return documents.map((document) => readNote(file, fieldsOf(document)))
}

/**
 * Reads the receipt in an answer, together with the answer, or a receipt alone.
 * @param dataset the dataset of a receipt that names none
 * @throws Misuse for a file that holds anything else.
 */
export function readReceipt(file: string, dataset: string | undefined): EventNote {
  const text = readText(file)
  const document = fieldsOf(parseJson(file, text))
  const named = document.dataset ?? dataset
  if (document.receipt === undefined) return readNote(file, { dataset: named, ...document })
  const receipt = { dataset: named, ...fieldsOf(document.receipt) }
  const { id, session, question } = document
  const chargeId = id ?? session
  if (typeof chargeId !== 'string') throw new Misuse(`${file}: the answer has no id`)
  const answer: NotedAnswer = {
    chargeId,
    ...(typeof question === 'number' && { question }),
    answerHash: sha256(text),
  }
  return readNote(file, receipt, answer)
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

function readNote(file: string, fields: Readonly<Record<string, unknown>>, answer?: NotedAnswer): EventNote {
  const { dataset, sequence, hash, signature } = fields
  if (typeof dataset !== 'string') throw new Misuse(`${file}: names no dataset; name it with --dataset`)
  if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 1)
    throw new Misuse(`${file}: "sequence" must be the number of an event`)
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash))
    throw new Misuse(`${file}: "hash" must be a SHA-256 in hexadecimal`)
  return {
    file,
    noted: { dataset, sequence, hash, ...(answer !== undefined && { answer }) },
    ...(typeof signature === 'string' && { signature }),
  }
}

function parseLines(text: string): readonly unknown[] | undefined {
  try {
    return text
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
  } catch {
    return undefined
  }
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Misuse(`${file}: is not JSON`)
  }
}

function fieldsOf(document: unknown): Readonly<Record<string, unknown>> {
  return typeof document === 'object' && document !== null ? { ...document } : {}
}
