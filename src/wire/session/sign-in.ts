import { randomBytes } from 'node:crypto'
import type { KeyVerifier } from '../../http/access/keys/keys.ts'
import { checkScramProof, SCRAM_ITERATIONS, scramSalt } from '../../http/access/keys/scram.ts'
import type { Principal } from '../../http/access/principal.ts'
import { Refusal } from '../../privacy/refusal.ts'
import { WireError } from '../errors.ts'
import type { WireParts } from '../parts.ts'
import { send } from '../protocol/backend.ts'
import { decodeText, ProtocolViolation, readFields } from '../protocol/fields.ts'
import { MAX_PASSWORD_BYTES, readMessage } from '../protocol/frontend.ts'
import type { Inbox } from '../protocol/inbox.ts'
import type { Output } from '../protocol/output.ts'

/** A connection whose client wants to sign in. */
export interface Signing {
  readonly inbox: Inbox
  readonly output: Output
  readonly address: string
  readonly user: string
}

/**
 * Checks by SCRAM-SHA-256 that the client has an API key of its user. A name without keys is asked for a proof like others.
 * @returns a function that returns the principal as the key is now
 * @throws WireError that ends the connection
 */
export async function signIn(parts: WireParts, signing: Signing): Promise<() => Promise<Principal>> {
  const { address, user } = signing
  const digest = await digestByScram(signing, await parts.keys.scramVerifiers(user))
  const principalNow = digest === undefined ? undefined : principalOfKey(parts, digest, user)
  const refused = () => parts.authenticator.countRefused?.(address)
  const principal = await principalNow?.().catch((error: unknown) => {
    if (error instanceof WireError) refused()
    throw error
  })
  if (principalNow === undefined || principal === undefined) {
    refused()
    throw new WireError('28P01', `The password is no API key of "${user}".`, {
      hint: 'A key that is older than this protocol must be rotated once.',
      fatal: true,
    })
  }
  return async () => {
    const principal = await principalNow()
    if (principal === undefined)
      throw new WireError('28000', 'The API key was deleted or replaced.', { fatal: true })
    return principal
  }
}

const MECHANISM = 'SCRAM-SHA-256'
/** That of no key: a name without keys takes as long as others. */
const NOBODY: KeyVerifier = { sha256: '', storedKey: '', serverKey: '' }

/** The exchange of RFC 5802, without channel binding. */
async function digestByScram(
  { inbox, output, user }: Signing,
  verifiers: readonly KeyVerifier[],
): Promise<string | undefined> {
  output.add(send.saslMechanisms([MECHANISM]))
  await output.flush()
  const initial = readFields(await readPassword(inbox))
  if (initial.text() !== MECHANISM) throw new ProtocolViolation(`the mechanism is not ${MECHANISM}`)
  const first = decodeText(initial.bytes(initial.int32()))
  // The name in the exchange is empty: that of the start applies.
  const [, header, bare, clientNonce] = /^([ny],,)(n=[^,]*,r=([\x21-\x2b\x2d-\x7e]+))$/.exec(first) ?? []
  if (header === undefined || clientNonce === undefined)
    throw new ProtocolViolation('the exchange is not SCRAM')
  const nonce = clientNonce + randomBytes(18).toString('base64')
  const challenge = `r=${nonce},s=${scramSalt(user).toString('base64')},i=${SCRAM_ITERATIONS}`
  output.add(send.saslContinue(challenge))
  await output.flush()
  const final = decodeText(await readPassword(inbox))
  const [, binding, answered, proof] = /^(c=([^,]+),r=[^,]+),p=([A-Za-z0-9+/=]+)$/.exec(final) ?? []
  const expected = `c=${Buffer.from(header).toString('base64')},r=${nonce}`
  if (binding !== expected || answered === undefined || proof === undefined) return undefined
  const messages = `${bare},${challenge},${binding}`
  for (const verifier of verifiers.length === 0 ? [NOBODY] : verifiers) {
    const signature = checkScramProof(verifier, messages, Buffer.from(proof, 'base64'))
    if (signature === undefined) continue
    output.add(send.saslFinal(`v=${signature}`))
    return verifier.sha256
  }
  return undefined
}

/** Reads the principal of a key, if it has the name of the user. */
function principalOfKey({ keys }: WireParts, digest: string, user: string) {
  return async (): Promise<Principal | undefined> => {
    try {
      const principal = await keys.authenticateDigest(digest)
      return principal?.name === user ? principal : undefined
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'unauthenticated') throw error
      throw new WireError('28000', error.message, { fatal: true })
    }
  }
}

async function readPassword(inbox: Inbox): Promise<Buffer> {
  const header = await inbox.take(5)
  if (header === undefined) throw new ProtocolViolation('the client left before it signed in')
  const length = header.readInt32BE(1) - 4
  if (length < 0 || length > MAX_PASSWORD_BYTES) throw new ProtocolViolation('a password is too long')
  const body = await inbox.take(length)
  if (body === undefined) throw new ProtocolViolation('the client left before it signed in')
  const message = readMessage(header.readUInt8(0), body)
  if (message.kind !== 'password') throw new ProtocolViolation('a password is missing')
  return message.bytes
}
