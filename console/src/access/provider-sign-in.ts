import { queryClient } from '../api/api.ts'
import { keepCredential } from '../api/credential.ts'
import type { Schemas } from '../api/schemas.ts'

/** OpenID provider with which people sign in. */
export type Provider = NonNullable<Schemas['SignIn']['provider']> & {
  readonly clientId: string
}

/** Address to which the provider returns. */
export const CALLBACK = '/sign-in/callback'

/** Key under which the tab stores a sign-in while the person is at the provider. */
const STORED = 'sotto.sign-in'

interface Pending {
  readonly verifier: string
  readonly state: string
  readonly provider: Provider
  readonly remember: boolean
  /** Address that the person came for. */
  readonly returnTo: string
}

/**
 * Leaves the console for the provider: OAuth 2.0 authorization code with PKCE (RFC 7636), for the audience of the service.
 * @throws Error if the provider cannot be reached
 */
export async function leaveForProvider(
  provider: Provider,
  { remember, returnTo }: Pick<Pending, 'remember' | 'returnTo'>,
): Promise<void> {
  const { configuration, flow } = await configurationOf(provider)
  const verifier = flow.randomPKCECodeVerifier()
  const state = flow.randomState()
  const pending: Pending = { verifier, state, provider, remember, returnTo }
  sessionStorage.setItem(STORED, JSON.stringify(pending))
  const address = flow.buildAuthorizationUrl(configuration, {
    redirect_uri: location.origin + CALLBACK,
    scope: 'openid',
    code_challenge: await flow.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    // RFC 8707, and the parameter that some providers have instead.
    resource: provider.audience,
    audience: provider.audience,
  })
  location.assign(address)
}

/**
 * Ends a sign-in with the code in the address of the page, and keeps the access token.
 * @returns the address that the person came for
 * @throws Error if the provider refused, or the tab did not start the sign-in
 */
export async function returnFromProvider(): Promise<string> {
  const stored = sessionStorage.getItem(STORED)
  sessionStorage.removeItem(STORED)
  if (stored === null) throw new Error('this tab has not started a sign-in')
  const { verifier, state, provider, remember, returnTo } = JSON.parse(stored) as Pending
  const { configuration, flow } = await configurationOf(provider)
  const tokens = await flow.authorizationCodeGrant(
    configuration,
    new URL(location.href),
    { pkceCodeVerifier: verifier, expectedState: state },
    { resource: provider.audience },
  )
  // Nothing that another person was shown in this tab stays.
  queryClient.clear()
  keepCredential(tokens.access_token, remember)
  return returnTo
}

/** Loads the library, which people with keys do not need, and asks the provider for its addresses. */
async function configurationOf({ issuer, clientId }: Provider) {
  const flow = await import('openid-client')
  // The service accepts a provider without TLS on its own machine only.
  const isLocal = issuer.startsWith('http:')
  const configuration = await flow.discovery(
    new URL(issuer),
    clientId,
    undefined,
    flow.None(),
    isLocal ? { execute: [flow.allowInsecureRequests] } : {},
  )
  return { configuration, flow }
}
