import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'

/** An OpenID provider that serves its discovery document and its keys, and signs the claims that a test gives. */
export interface LocalProvider {
  readonly issuer: string
  /** Requests so far, by path. */
  readonly requests: Record<string, number>
  /** Answers instead of the documents, if set. */
  answer: ((path: string) => { readonly status: number; readonly body: string } | undefined) | undefined
  /** Replaces the signing key, as providers do from time to time. */
  rotate(): Promise<void>
  /** The key with which tokens are verified, as it is served. */
  readonly publicKey: CryptoKey
  /** Signs claims with the current key, after those of a valid token. */
  sign(claims?: Record<string, unknown>, header?: Partial<JWTHeaderParameters>): Promise<string>
  close(): Promise<void>
}

export const AUDIENCE = 'https://sotto.example'

export async function startLocalProvider(): Promise<LocalProvider> {
  const requests: Record<string, number> = {}
  let number = 0
  let pair = await generateKeyPair('ES256')
  const kid = () => `key-${number}`
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    requests[path] = (requests[path] ?? 0) + 1
    const other = provider.answer?.(path)
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: kid(), use: 'sig', alg: 'ES256' }
    const document =
      path === '/keys' ? { keys: [jwk] } : { issuer: provider.issuer, jwks_uri: `${provider.issuer}/keys` }
    response.writeHead(other?.status ?? 200, { 'content-type': 'application/json' })
    response.end(other?.body ?? JSON.stringify(document))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const provider: LocalProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: undefined,
    async rotate() {
      number += 1
      pair = await generateKeyPair('ES256')
    },
    get publicKey() {
      return pair.publicKey
    },
    sign(claims = {}, header = {}) {
      const nowSeconds = Math.floor(Date.now() / 1_000)
      const payload = {
        iss: provider.issuer,
        aud: AUDIENCE,
        sub: 'ada',
        roles: ['analyst'],
        iat: nowSeconds,
        exp: nowSeconds + 300,
        ...claims,
      }
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: kid(), ...header })
        .sign(pair.privateKey)
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
  return provider
}
