import { useSyncExternalStore } from 'react'

/** Key under which a tab stores the credential, if the person asked for it. */
const STORED = 'sotto.credential'

/** Why a person has to sign in: they have not yet, they signed out, or the service refused their key or token. */
export type SignedOut = 'never' | 'left' | 'refused'

export type Credential =
  | { readonly state: 'signed-in'; readonly token: string }
  | { readonly state: 'signed-out'; readonly reason: SignedOut }

let current: Credential = stored()
const listeners = new Set<() => void>()

function stored(): Credential {
  const token = sessionStorage.getItem(STORED)
  return token === null ? { state: 'signed-out', reason: 'never' } : { state: 'signed-in', token }
}

function change(next: Credential) {
  current = next
  for (const listener of listeners) listener()
}

/**
 * Keeps an API key or access token in memory.
 * @param remember true keeps it in the session storage as well, where it outlives a reload but not the tab
 */
export function keepCredential(token: string, remember: boolean): void {
  if (remember) sessionStorage.setItem(STORED, token)
  else sessionStorage.removeItem(STORED)
  change({ state: 'signed-in', token })
}

/** Forgets the credential and, if the person signs out, everything else that the tab stores, such as unsent forms. */
export function forgetCredential(reason: SignedOut): void {
  if (reason === 'left') sessionStorage.clear()
  else sessionStorage.removeItem(STORED)
  if (current.state === 'signed-in') change({ state: 'signed-out', reason })
}

/** Returns the API key or access token of the person, or undefined if they are signed out. */
export function currentToken(): string | undefined {
  return current.state === 'signed-in' ? current.token : undefined
}

export function useCredential(): Credential {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
}
