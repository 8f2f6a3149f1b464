import { followExport } from '../../../../src/ledger/protocol/verifier/export.ts'
import {
  type ChangedNote,
  type NotedEvent,
  type NotedFinding,
  readDocuments,
  readNoted,
} from '../../../../src/ledger/protocol/verifier/noted-events.ts'
import { chunksOf } from '../../api/chunks.ts'
import { type Check, sentence } from './checks.ts'
import { checkSignature, type SignatureCheck, sha256 } from './web-crypto.ts'

/** An export that was verified, in which receipts are looked for. */
export interface VerifiedExport {
  readonly dataset: string
  readonly bytes: Blob
}

/**
 * Looks for pasted receipts, answers and heads in a verified export, and checks their signatures.
 * @param publicKeyPem key with which they should be signed; without it, signatures are not checked
 * @throws SyntaxError if the text is none of them
 */
export async function receiptChecks(
  { dataset, bytes }: VerifiedExport,
  text: string,
  publicKeyPem: string | undefined,
): Promise<readonly Check[]> {
  // Pasting may add a line break at the end. No answer ends with one.
  const notes = await Promise.all(
    readDocuments(text).map(async ({ document, text: own }) =>
      readNoted(document, { dataset, answerHash: await sha256(own.trim()) }),
    ),
  )
  const { noted } = await followExport(chunksOf(bytes.stream()), {
    dataset,
    sha256,
    noted: notes.flatMap((note) => ('changed' in note ? [] : [note.noted])),
  })
  const checks = notes.map(async (note, place) => {
    const all =
      'changed' in note
        ? [changedCheck(note)]
        : [
            ...noted.filter((found) => found.noted === note.noted).map((found) => foundCheck(found, dataset)),
            ...(await signatureChecks(note.noted, note.signature, publicKeyPem)),
          ]
    return all.map((check) => ({ ...check, title: `${place + 1}. ${check.title}` }))
  })
  return (await Promise.all(checks)).flat()
}

function changedCheck({ changed }: ChangedNote): Check {
  return { state: 'bad', title: 'It was changed', text: `No service writes it so: ${changed}.` }
}

function foundCheck({ noted, reason, onlyAnswer }: NotedFinding, dataset: string): Check {
  const { sequence, answer } = noted
  if (noted.dataset !== dataset)
    return { state: 'bad', title: 'The ledger does not confirm it', text: `It belongs to ${noted.dataset}.` }
  if (reason !== undefined && onlyAnswer === true)
    return {
      state: 'unknown',
      title: 'The ledger confirms the charge, not the text',
      text: `${sentence(reason)} Pasting may have changed the text, or it is a repeat, whose cost is 0: use the file of the stored answer.`,
    }
  if (reason !== undefined)
    return { state: 'bad', title: 'The ledger does not confirm it', text: sentence(reason) }
  const event =
    answer !== undefined && answer.question === undefined
      ? `Event ${sequence} debits this answer.`
      : `Event ${sequence} is in the ledger.`
  const text = answer === undefined ? event : `${event} The ledger has the hash of this text.`
  return { state: 'good', title: 'The ledger confirms it', text }
}

/** Findings about the signature of a receipt. */
const SIGNATURE_CHECKS: Readonly<Record<SignatureCheck, Check>> = {
  valid: { state: 'good', title: 'Its signature is valid', text: 'It was made with the public key.' },
  invalid: { state: 'bad', title: 'Its signature is invalid', text: 'It was not made with the public key.' },
  'no key': {
    state: 'bad',
    title: 'The public key cannot be read',
    text: 'It is not the PEM of an Ed25519 key.',
  },
  unsupported: {
    state: 'unknown',
    title: 'Its signature was not checked',
    text: 'This browser has no Ed25519.',
  },
}

async function signatureChecks(
  head: NotedEvent,
  signature: string | undefined,
  publicKeyPem: string | undefined,
): Promise<readonly Check[]> {
  if (signature === undefined || publicKeyPem === undefined) return []
  return [SIGNATURE_CHECKS[await checkSignature(head, signature, publicKeyPem)]]
}
