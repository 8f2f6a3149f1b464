import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Page } from 'playwright-core'
import { startTestService, type TestService } from '../service.ts'

const AUDIENCE = 'https://sotto.example/api'
const CLIENT = 'browser'

/**
 * Starts a service with the demo, and a real OpenID provider at which browsers sign in. Everybody who signs in is an
 * analyst.
 * @param redirectPath address of the service to which the provider returns
 */
export async function startServiceWithProvider(redirectPath: string): Promise<TestService> {
  // The port must be known before the provider is created, and that of the service before its client is.
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = await startTestService({
    SOTTO_DEMO: 'true',
    SOTTO_OIDC_ISSUER: issuer,
    SOTTO_OIDC_AUDIENCE: AUDIENCE,
    SOTTO_OIDC_CLIENT_ID: CLIENT,
  })
  server.on('request', providerFor(issuer, `${service.url}${redirectPath}`).callback())
  return {
    ...service,
    close: async () => {
      await service.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Signs in as `ada` on the provider's own pages. */
export async function signInAtProvider(page: Page): Promise<void> {
  await page.locator('input[name=login]').fill('ada')
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('button[type=submit]', { hasText: 'Continue' }).click()
}

function providerFor(issuer: string, redirectAddress: string): Provider {
  return new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: [redirectAddress],
      },
    ],
    scopes: ['openid', 'sotto'],
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, audience) => ({
          scope: 'sotto',
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 60,
        }),
      },
    },
    extraTokenClaims: () => ({ roles: ['analyst'] }),
  })
}
