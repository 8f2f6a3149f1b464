import { hasKeyPrefix } from './key-text.ts'
import type { KeyStore } from './keys.ts'
import { OIDC_PREFIX, type TokenAuthenticator } from './oidc.ts'
import type { Principal } from './principal.ts'
import type { RefusedSignInCounter } from './refused-sign-ins.ts'

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
