import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import supertest from 'supertest'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../service.ts'

// A real OpenID provider from npm. Its clients get tokens of their own (client credentials, RFC 6749 section 4.4).

const AUDIENCE = 'https://sotto.example/api'
const SECRET = 'a secret for tests only'

let server: Server
let issuer = ''
let service: TestService

beforeAll(async () => {
  const client = (client_id: string) => ({
    client_id,
    client_secret: SECRET,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  })
  // The port must be known before the provider is created.
  server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [client('notebook'), client('office'), client('stranger')],
    scopes: ['sotto'],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => ({
          scope: 'sotto',
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 60,
        }),
      },
    },
    extraTokenClaims: (_context, token) => {
      const roles: Record<string, string> = { notebook: 'analyst', office: 'auditor' }
      const role = roles[token.clientId ?? '']
      return role === undefined ? {} : { groups: ['everyone', role] }
    },
  })
  server.on('request', provider.callback())
  service = await startTestService({
    SOTTO_DEMO: 'true',
    SOTTO_OIDC_ISSUER: issuer,
    SOTTO_OIDC_AUDIENCE: AUDIENCE,
    SOTTO_OIDC_ROLE_CLAIM: 'groups',
  })
})
afterAll(async () => {
  await service.close()
  server.close()
  server.closeAllConnections()
})

async function tokenOf(client: string, resource = AUDIENCE): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client}:${encodeURIComponent(SECRET)}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope: 'sotto' }),
  })
  const { access_token: token } = (await response.json()) as { access_token: string }
  expect(response.status).toBe(200)
  return token
}

const as = (token: string) => supertest.agent(service.url).set('authorization', `Bearer ${token}`)

test('tokens of a real provider identify an analyst and an auditor', async () => {
  const notebook = as(await tokenOf('notebook'))
  await notebook.post('/v1/datasets/census/queries').send({ kind: 'count', epsilon: 0.01 }).expect(200)
  const { body } = await as(await tokenOf('office'))
    .get('/v1/datasets/census/ledger')
    .expect(200)
  expect(body.entries.map(({ principal }: { principal: string }) => principal)).toContain('oidc:notebook')
})

test('a token without a role, for another audience, or changed is refused', async () => {
  await as(await tokenOf('stranger'))
    .get('/v1/datasets')
    .expect(403)
  await as(await tokenOf('notebook', 'https://other.example/api'))
    .get('/v1/datasets')
    .expect(401)
  const token = await tokenOf('notebook')
  const changed = `${token.slice(0, -10)}${token.slice(-10).split('').reverse().join('')}`
  await as(changed).get('/v1/datasets').expect(401)
  await as(token).get('/v1/datasets').expect(200)
})
