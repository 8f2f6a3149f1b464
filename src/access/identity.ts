import { type Authenticator, createAuthenticator } from './authenticator.ts'
import { type KeyActRecorder, startKeyActRecorder } from './key-acts.ts'
import type { KeyAct, KeyFileAccess } from './key-file.ts'
import { type KeyStore, openKeyStore } from './keys.ts'
import { createTokenAuthenticator, type OidcSettings } from './oidc.ts'
import { createRefusedSignInCounter } from './refused-sign-ins.ts'

/** An administrative act about keys or sign-ins. */
export interface IdentityAct extends Pick<KeyAct, 'principal' | 'subject' | 'facts'> {
  readonly kind: KeyAct['kind'] | 'sign-in-refused'
}

export interface IdentityOptions {
  /** The data folder with the keys, or another place of theirs. */
  readonly keyPlace: string | KeyFileAccess
  /** Absent if no tokens are accepted. */
  readonly oidc?: OidcSettings
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

/**
 * Opens the keys and the tokens of the configured provider, and starts recording changes of keys and
 * refused sign-ins. The changes made while no service was running are recorded when this resolves.
 */
export async function openIdentity({ keyPlace, oidc, record, onError }: IdentityOptions): Promise<Identity> {
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
  const tokens =
    oidc === undefined
      ? undefined
      : createTokenAuthenticator(oidc, (error) => onError(error, 'tokens cannot be checked'))
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
