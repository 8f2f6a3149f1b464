import type { Principal } from './principal.ts'

/** Identifies callers by their bearer credential. Routes ask only this interface, whatever the kind of credential. */
export interface Authenticator {
  /** Returns the principal of a credential, or `undefined` if the credential is not valid (any more). */
  authenticate(credential: string): Promise<Principal | undefined>
  /** Returns true if an analyst of this name can sign in. */
  hasAnalyst(name: string): Promise<boolean>
}
