import type { Documents } from '../../ledger/documents/documents.ts'
import { FileLockTimeout } from '../../platform/files/file-lock.ts'
import { openKeyDocument } from './keys/key-document.ts'
import { type KeyAct, openKeyFile } from './keys/key-file.ts'
import { hasKeyPrefix } from './keys/key-text.ts'
import { createFirstKeys, type KeyStore, openKeyStore } from './keys/keys.ts'
import { createTokenAuthenticator, OIDC_PREFIX, type OidcSettings, type TokenAuthenticator } from './oidc.ts'
import type { Principal } from './principal.ts'
import { createRefusedSignInCounter, type RefusedSignInCounter } from './refused-sign-ins.ts'

/** An administrative act about keys or sign-ins. */
export interface IdentityAct extends Pick<KeyAct, 'principal' | 'subject' | 'facts'> {
  readonly kind: KeyAct['kind'] | 'sign-in-refused'
}

export interface IdentityOptions {
  readonly dataDirectory: string
  /** The database of the keys; absent if they are in the data folder. */
  readonly documents: Documents | undefined
  /** Absent if no tokens are accepted. */
  readonly oidc: OidcSettings | undefined
  /** Appends an act to the chain of administrative acts, durably. */
  readonly record: (act: IdentityAct) => Promise<unknown>
  /** Called for failures in the background. */
  readonly onError: (error: unknown, what: string) => void
}

/** The keys and tokens that identify callers, and the record of their use. */
export interface Identity {
  readonly authenticator: Authenticator
  readonly keys: KeyStore
  readonly keyActs: KeyActRecorder
  /** Records what is not recorded yet, and stops. */
  close(): Promise<void>
}

/** Identifies callers by their bearer credential, an API key or an access token. */
export interface Authenticator {
  /**
   * Returns the principal of a credential, or `undefined` if the credential is not valid.
   * @throws Refusal `unauthenticated` with a reason for the caller, `forbidden` for a token without a usable role, or
   * `unavailable`
   */
  authenticate(credential: string): Promise<Principal | undefined>
  /** Returns true if an analyst of this name can sign in. */
  hasAnalyst(name: string): Promise<boolean>
  /** Counts a sign-in from an address whose credential is not valid. */
  countRefused?(address: string): void
}

/** Records the changes of keys, of this process and of the command line, in the ledger. */
export interface KeyActRecorder {
  /** Records the changes that are not recorded yet. A failure is reported, and the next call tries again. */
  recordPending(): Promise<void>
  /** Stops checking for changes, after a running check. */
  close(): Promise<void>
}

/**
 * Opens the keys, with those of a first start, and the tokens of the configured provider, and starts recording changes of keys and
 * refused sign-ins. The changes made while no service was running are recorded when this resolves.
 */
export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const { dataDirectory, documents, oidc, record, onError } = options
  const keyPlace = documents === undefined ? openKeyFile(dataDirectory) : openKeyDocument(documents)
  await createFirstKeys(dataDirectory, keyPlace)
  const keys = openKeyStore(keyPlace)
  const keyActs = startKeyActRecorder(
    keys,
    ({ kind, principal, subject, facts, at }) =>
      record({ kind, principal, subject, facts: { ...facts, changedAt: at } }),
    (error) => onError(error, 'changes of keys cannot be recorded'),
  )
  await keyActs.recordPending()
  const refused = createRefusedSignInCounter({
    record: ({ subject, facts }) =>
      record({ kind: 'sign-in-refused', principal: 'sotto', subject, facts: { ...facts } }),
    onError: (error) => onError(error, 'refused sign-ins cannot be recorded'),
  })
  const tokens = oidc && createTokenAuthenticator(oidc, (error) => onError(error, 'tokens cannot be checked'))
  return {
    authenticator: createAuthenticator(keys, tokens, refused),
    keys,
    keyActs,
    async close() {
      await refused.close()
      await keyActs.close()
    },
  }
}

/**
 * Creates the authenticator for API keys and, if given, tokens. The prefix of a credential decides which it is, so that
 * keys do not depend on the identity provider.
 */
export function createAuthenticator(
  keys: Pick<KeyStore, 'authenticate' | 'hasAnalyst'>,
  tokens?: TokenAuthenticator,
  refused?: Pick<RefusedSignInCounter, 'count'>,
): Authenticator {
  return {
    countRefused: (address) => refused?.count(address),
    authenticate: async (credential) =>
      hasKeyPrefix(credential) ? keys.authenticate(credential) : tokens?.authenticate(credential),
    // The provider's users are not known before they sign in.
    hasAnalyst: async (name) => (name.startsWith(OIDC_PREFIX) ? tokens !== undefined : keys.hasAnalyst(name)),
  }
}

/** Time between two checks for changes by the command line. */
const INTERVAL_MS = 1_000

/**
 * Starts recording the changes of keys.
 * @param record appends an act to the chain of administrative acts, durably
 */
function startKeyActRecorder(
  keys: Pick<KeyStore, 'deliverActs'>,
  record: (act: KeyAct) => Promise<unknown>,
  onError: (error: unknown) => void,
): KeyActRecorder {
  let running: Promise<void> = Promise.resolve()
  const recordPending = () => {
    running = running
      .then(() => keys.deliverActs(record))
      .catch((error: unknown) => {
        // Another process on the same data folder is recording them.
        if (!(error instanceof FileLockTimeout)) onError(error)
      })
    return running
  }
  const timer = setInterval(recordPending, INTERVAL_MS)
  timer.unref()
  return {
    recordPending,
    async close() {
      clearInterval(timer)
      await running
    },
  }
}
