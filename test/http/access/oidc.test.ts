import { createHmac } from 'node:crypto'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAuthenticator } from '../../../src/http/access/identity.ts'
import { createTokenAuthenticator, isProtectedUrl, type OidcSettings } from '../../../src/http/access/oidc.ts'
import { AUDIENCE, type LocalProvider, startLocalProvider } from './local-provider.ts'

const COOLDOWN_MS = 60_000

let provider: LocalProvider
let failures: Error[] = []
beforeEach(async () => {
  provider = await startLocalProvider()
  failures = []
})
afterEach(() => provider.close())

function authenticatorWith(changes: Partial<OidcSettings> = {}, cooldownMs = COOLDOWN_MS) {
  const settings: OidcSettings = {
    issuer: provider.issuer,
    audience: AUDIENCE,
    algorithms: ['ES256'],
    clockSkewMs: 5_000,
    tokenType: 'at+jwt',
    nameClaim: 'sub',
    roleClaim: 'roles',
    roles: new Map([
      ['analyst', 'analyst'],
      ['dpo', 'auditor'],
      ['steward', 'custodian'],
    ]),
    ...changes,
  }
  const bounds = { timeoutMs: 2_000, maxBytes: 10_000, cooldownMs }
  return createTokenAuthenticator(settings, (error) => failures.push(error), bounds)
}

const nowSeconds = () => Math.floor(Date.now() / 1_000)
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a token', () => {
  test('gives a name with the prefix oidc:, a role, and with a claim for them datasets', async () => {
    const tokens = authenticatorWith({ datasetsClaim: 'datasets' })
    expect(await tokens.authenticate(await provider.sign({ datasets: ['census'] }))).toEqual({
      name: 'oidc:ada',
      role: 'analyst',
      datasets: ['census'],
    })
    expect(await tokens.authenticate(await provider.sign({ roles: 'dpo other', datasets: '*' }))).toEqual({
      name: 'oidc:ada',
      role: 'auditor',
    })
    // Without the claim, no dataset may be used.
    expect((await tokens.authenticate(await provider.sign())).datasets).toEqual([])
  })

  test('may have its claims below others', async () => {
    const tokens = authenticatorWith({ roleClaim: '/realm_access/roles', nameClaim: 'https://example/name' })
    const claims = { realm_access: { roles: ['steward'] }, 'https://example/name': 'carol@example.org' }
    expect(await tokens.authenticate(await provider.sign(claims))).toEqual({
      name: 'oidc:carol@example.org',
      role: 'custodian',
    })
  })

  test('whose sub is the name of a key is not the principal of that key', async () => {
    const keys = {
      authenticate: async () => ({ name: 'ada', role: 'custodian' }) as const,
      hasAnalyst: async (name: string) => name === 'ada',
    }
    const authenticator = createAuthenticator(keys, authenticatorWith())
    const principal = await authenticator.authenticate(await provider.sign({ sub: 'ada' }))
    expect(principal).toEqual({ name: 'oidc:ada', role: 'analyst' })
    const disguised = await authenticator.authenticate(await provider.sign({ sub: 'oidc:ada' }))
    expect(disguised?.name).toBe('oidc:oidc:ada')
    expect(await authenticator.hasAnalyst('oidc:eve')).toBe(true)
    expect(await authenticator.hasAnalyst('eve')).toBe(false)
  })
})

describe('refused:', () => {
  const refused = async (token: string, reason: string, changes: Partial<OidcSettings> = {}) =>
    expect(authenticatorWith(changes).authenticate(token)).rejects.toMatchObject({
      code: 'unauthenticated',
      message: expect.stringContaining(reason),
    })

  test('algorithm none', async () => {
    const [, payload] = (await provider.sign()).split('.')
    await refused(`${part({ alg: 'none', typ: 'at+jwt' })}.${payload}.`, 'not valid')
    await refused(`${part({ alg: 'none', typ: 'at+jwt' })}.${payload}.AAAA`, 'not allowed')
  })

  test('HS256 with the public key as the secret', async () => {
    const [, payload] = (await provider.sign()).split('.')
    const signed = `${part({ alg: 'HS256', typ: 'at+jwt', kid: 'key-0' })}.${payload}`
    const secret = await exportSPKI(provider.publicKey)
    const signature = createHmac('sha256', secret).update(signed).digest('base64url')
    await refused(`${signed}.${signature}`, 'not allowed')
  })

  test('an algorithm that is not configured', async () => {
    await refused(await provider.sign(), 'not allowed', { algorithms: ['RS256', 'EdDSA'] })
  })

  test('a key of its own in the header, and an address of keys', async () => {
    const own = await generateKeyPair('ES256', { extractable: true })
    const header = { alg: 'ES256', typ: 'at+jwt', kid: 'key-0', jwk: await exportJWK(own.publicKey) }
    const claims = {
      iss: provider.issuer,
      aud: AUDIENCE,
      sub: 'ada',
      roles: ['steward'],
      exp: nowSeconds() + 60,
    }
    const sign = (more: object) =>
      new SignJWT(claims).setProtectedHeader({ ...header, ...more }).sign(own.privateKey)
    await refused(await sign({}), 'wrong signature')
    await refused(await sign({ jku: `${provider.issuer}/evil` }), 'wrong signature')
    expect(provider.requests['/evil']).toBeUndefined()
  })

  test('changed claims', async () => {
    const [header, , signature] = (await provider.sign()).split('.')
    const claims = {
      iss: provider.issuer,
      aud: AUDIENCE,
      sub: 'eve',
      roles: ['steward'],
      exp: nowSeconds() + 60,
    }
    await refused(`${header}.${part(claims)}.${signature}`, 'wrong signature')
  })

  test.each([
    ['another issuer', { iss: 'https://elsewhere.example' }, 'another issuer'],
    ['another audience', { aud: 'https://other.example' }, 'another audience'],
    ['no audience', { aud: undefined }, 'another audience'],
    ['a token that has expired', { exp: nowSeconds() - 60 }, 'expired'],
    ['a token that never expires', { exp: undefined }, 'lacks a claim'],
    ['a token that is not valid yet', { nbf: nowSeconds() + 60 }, 'not valid yet'],
    ['an expiry that is no number', { exp: 'tomorrow' }, 'malformed'],
    ['no name', { sub: undefined }, 'no name'],
    ['a name with other characters', { sub: 'ada"><script>' }, 'no name'],
    ['a name that is too long', { sub: 'a'.repeat(201) }, 'no name'],
    ['a name that is no text', { sub: ['ada'] }, 'no name'],
  ])('%s', async (_, claims, reason) => {
    if ('sub' in claims && Array.isArray(claims.sub))
      return refused(await provider.sign({ person: claims.sub }), reason, { nameClaim: 'person' })
    await refused(await provider.sign(claims), reason)
  })

  test.each([
    ['no role claim', { roles: undefined }, 'no role'],
    ['a role claim without a known value', { roles: ['boss', 'Analyst', '__proto__'] }, 'no role'],
    ['a role claim that is no text', { roles: { analyst: true } }, 'no role'],
    ['two roles', { roles: ['analyst', 'steward'] }, 'several roles'],
  ])('%s', async (_, claims, reason) => {
    await expect(authenticatorWith().authenticate(await provider.sign(claims))).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining(reason),
    })
  })

  test('ID tokens, as far as they can be told apart', async () => {
    await refused(await provider.sign({}, { typ: 'JWT' }), 'at+jwt')
    for (const claims of [{ nonce: 'n' }, { at_hash: 'h' }, { token_use: 'id' }, { typ: 'ID' }])
      await refused(await provider.sign(claims, { typ: 'JWT' }), 'ID token', { tokenType: 'any' })
    const other = authenticatorWith({ tokenType: 'any' })
    expect((await other.authenticate(await provider.sign({}, { typ: 'JWT' }))).name).toBe('oidc:ada')
    expect((await other.authenticate(await provider.sign({}, { typ: 'application/at+jwt' }))).name).toBe(
      'oidc:ada',
    )
  })

  test('oversized tokens, and texts that are no token, without asking the provider', async () => {
    await refused(await provider.sign({ padding: 'x'.repeat(9_000) }), 'too long')
    for (const text of ['', 'key', 'a.b', 'a.b.c.d.e', 'a..c']) await refused(text, 'not valid')
    expect(provider.requests).toEqual({})
  })
})

test('a clock that differs by less than the skew is accepted', async () => {
  const tokens = authenticatorWith()
  await tokens.authenticate(await provider.sign({ exp: nowSeconds() - 2, nbf: nowSeconds() + 2 }))
})

describe('the keys of the provider', () => {
  test('are fetched once, and again after a rotation', async () => {
    const tokens = authenticatorWith({}, 0)
    for (let round = 0; round < 5; round += 1) await tokens.authenticate(await provider.sign())
    expect(provider.requests).toEqual({ '/.well-known/openid-configuration': 1, '/keys': 1 })
    await provider.rotate()
    await tokens.authenticate(await provider.sign())
    expect(provider.requests['/keys']).toBe(2)
  })

  test('are not fetched again for a flood of unknown key ids', async () => {
    const tokens = authenticatorWith()
    await tokens.authenticate(await provider.sign())
    const flood = Array.from({ length: 50 }, async (_, number) =>
      expect(
        tokens.authenticate(await provider.sign({}, { kid: `unknown-${number}` })),
      ).rejects.toMatchObject({
        code: 'unauthenticated',
      }),
    )
    await Promise.all(flood)
    expect(provider.requests['/keys']).toBe(1)
    await tokens.authenticate(await provider.sign())
  })

  test.each([
    ['is down', 500, ''],
    ['sends no JSON', 200, '<html>'],
    ['sends a redirect', 302, ''],
    ['sends too much', 200, JSON.stringify({ keys: [], padding: 'x'.repeat(20_000) })],
    ['sends another document', 200, '{}'],
    [
      'names another issuer',
      200,
      '{"issuer":"https://elsewhere.example","jwks_uri":"https://elsewhere.example/k"}',
    ],
  ])('are unavailable if the provider %s: one request per cooldown, one report', async (_, status, body) => {
    provider.answer = () => ({ status, body })
    const tokens = authenticatorWith()
    for (let round = 0; round < 5; round += 1)
      await expect(tokens.authenticate(await provider.sign())).rejects.toMatchObject({ code: 'unavailable' })
    expect(provider.requests).toEqual({ '/.well-known/openid-configuration': 1 })
    expect(failures.map(({ message }) => message)).toEqual([expect.stringContaining('cannot be used')])
  })

  test('are fetched once the provider answers again', async () => {
    provider.answer = (path) => (path === '/keys' ? { status: 503, body: '' } : undefined)
    const tokens = authenticatorWith({}, 0)
    await expect(tokens.authenticate(await provider.sign())).rejects.toMatchObject({ code: 'unavailable' })
    provider.answer = undefined
    expect((await tokens.authenticate(await provider.sign())).name).toBe('oidc:ada')
  })

  test('do not matter for API keys', async () => {
    provider.answer = () => ({ status: 500, body: '' })
    const keys = {
      authenticate: async () => ({ name: 'bob', role: 'analyst' }) as const,
      hasAnalyst: async () => true,
    }
    const authenticator = createAuthenticator(keys, authenticatorWith())
    expect(await authenticator.authenticate('sotto_anything')).toMatchObject({ name: 'bob' })
    expect(provider.requests).toEqual({})
  })
})

test.each([
  ['https://login.example/realm', true],
  ['http://127.0.0.1:8081', true],
  ['http://[::1]:8081', true],
  ['http://login.example', false],
  ['https://user:password@login.example', false],
  ['file:///keys', false],
  ['login.example', false],
])('%s may be the address of a provider: %s', (url, expected) => {
  expect(isProtectedUrl(url)).toBe(expected)
})
