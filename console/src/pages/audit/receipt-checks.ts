import type { Chain } from './chain.ts'
import type { Check } from './checks.ts'
import { findNoted, type NotedEvent, type NotedFinding, readNoted } from './receipt.ts'
import { checkSignature } from './signature.ts'

/** Sentence about the text of an answer whose receipt is confirmed. */
const ANSWER_TEXTS = {
  same: 'The ledger has the hash of this text.',
  other:
    'The ledger has the hash of another text. Pasting may have changed it, or it is a repeat, whose cost is 0: use the file of the stored answer.',
  missing: 'No later event records an answer.',
} as const

/**
 * Looks for pasted receipts, answers and heads in a verified chain, and checks their signatures.
 * @param publicKeyPem key with which they should be signed; without it, signatures are not checked
 * @throws SyntaxError if the text is none of them
 */
export async function receiptChecks(
  chain: Chain,
  text: string,
  publicKeyPem: string | undefined,
): Promise<readonly Check[]> {
  const all = readNoted(text).map(async (noted, place): Promise<readonly Check[]> => {
    const found = await findNoted(chain, noted)
    const signed = await signatureCheck(chain, noted, publicKeyPem)
    return [
      foundCheck(found, place),
      ...(signed === undefined ? [] : [{ ...signed, title: `${place + 1}. ${signed.title}` }]),
    ]
  })
  return (await Promise.all(all)).flat()
}

function foundCheck({ confirmed, text, answer }: NotedFinding, place: number): Check {
  const number = `${place + 1}. `
  if (!confirmed) return { state: 'bad', title: `${number}The ledger does not confirm it`, text }
  const detail = answer === undefined ? text : `${text} ${ANSWER_TEXTS[answer]}`
  if (answer === undefined || answer === 'same')
    return { state: 'good', title: `${number}The ledger confirms it`, text: detail }
  return { state: 'unknown', title: `${number}The ledger confirms the charge, not the text`, text: detail }
}

async function signatureCheck(
  chain: Chain,
  { dataset = chain.dataset, sequence, hash, signature }: NotedEvent,
  publicKeyPem: string | undefined,
): Promise<Check | undefined> {
  if (signature === undefined || publicKeyPem === undefined) return undefined
  const found = await checkSignature({ dataset, sequence, hash }, signature, publicKeyPem)
  switch (found) {
    case 'valid':
      return { state: 'good', title: 'Its signature is valid', text: 'It was made with the public key.' }
    case 'invalid':
      return { state: 'bad', title: 'Its signature is invalid', text: 'It was not made with the public key.' }
    case 'no key':
      return {
        state: 'bad',
        title: 'The public key cannot be read',
        text: 'It is not the PEM of an Ed25519 key.',
      }
    case 'unsupported':
      return {
        state: 'unknown',
        title: 'Its signature was not checked',
        text: 'This browser has no Ed25519.',
      }
  }
}
