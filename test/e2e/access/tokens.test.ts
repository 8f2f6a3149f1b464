import supertest from 'supertest'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AUDIENCE, type LocalProvider, startLocalProvider } from '../../http/access/local-provider.ts'
import { startTestService, type TestService, wholeText } from '../service.ts'

let provider: LocalProvider
let service: TestService
beforeAll(async () => {
  provider = await startLocalProvider()
  service = await startTestService(
    {
      SOTTO_OIDC_ISSUER: provider.issuer,
      SOTTO_OIDC_AUDIENCE: AUDIENCE,
      SOTTO_OIDC_DATASETS_CLAIM: 'datasets',
      SOTTO_OIDC_CLIENT_ID: 'swagger-ui',
    },
    { census: true },
  )
})
afterAll(async () => {
  await service.close()
  await provider.close()
})

async function withToken(claims: Record<string, unknown>) {
  const token = await provider.sign({ datasets: ['census'], ...claims })
  return supertest.agent(service.url).set('authorization', `Bearer ${token}`)
}

const COUNT = { kind: 'count', epsilon: 0.01 }
/** Every character that a name may have beside letters and digits. */
const NAME = 'auth0|a.b_c~d@e:f+g=h/i-1'

test('an analyst with a token asks, is charged under their name, and gets an allotment', async () => {
  const analyst = await withToken({ sub: NAME })
  const path = `/v1/datasets/census/analysts/${encodeURIComponent(`oidc:${NAME}`)}/allotment`
  const { body } = await service
    .as('custodian')
    .put(path)
    .send({ epsilon: 0.015, reason: 'A share.' })
    .expect(200)
  expect(body.analyst).toBe(`oidc:${NAME}`)
  const answer = await analyst.post('/v1/datasets/census/queries').send(COUNT).expect(200)
  await analyst.get(`/v1/releases/${answer.body.id}`).expect(200)
  await service.as('analyst').get(`/v1/releases/${answer.body.id}`).expect(404)
  const denied = await analyst
    .post('/v1/datasets/census/queries')
    .send({ ...COUNT, epsilon: 0.014 })
    .expect(403)
  expect(denied.body.code).toBe('allotment-insufficient')
  const verified = await service.as('auditor').get('/v1/datasets/census/ledger/verification').expect(200)
  expect(verified.body.sound).toBe(true)
  expect(verified.body.analysts).toContainEqual(expect.objectContaining({ analyst: `oidc:${NAME}` }))
  const request = service.as('auditor').get('/v1/datasets/census/ledger/export')
  const exported = await request.buffer(true).parse(wholeText).expect(200)
  expect(exported.body).toContain(`"principal":"oidc:${NAME}"`)
})

test('a token has the rights of its role, and of no dataset outside its claim', async () => {
  const auditor = await withToken({ roles: ['auditor'] })
  await auditor.get('/v1/datasets/census/ledger/verification').expect(200)
  await auditor.post('/v1/datasets/census/queries').send(COUNT).expect(403)
  const stranger = await withToken({ datasets: ['clinic'] })
  await stranger.get('/v1/datasets/census').expect(404)
  expect((await stranger.get('/v1/datasets').expect(200)).body).toEqual({ datasets: [] })
})

test('a custodian with a token for some datasets makes keys for no others', async () => {
  const custodian = await withToken({ roles: ['custodian'], sub: 'carol' })
  await custodian.post('/v1/keys').send({ name: 'x', role: 'analyst' }).expect(403)
  const request = { name: 'helper', role: 'analyst', datasets: ['census'] }
  const { body } = await custodian.post('/v1/keys').send(request).expect(201)
  expect(body.createdBy).toBe('oidc:carol')
})

test('a refused token gets 401, without a role 403, and nothing of it appears in the log', async () => {
  const expired = await withToken({ exp: 1 })
  const { body, headers } = await expired.get('/v1/datasets').expect(401)
  expect(body.detail).toBe('The token has expired.')
  expect(headers['www-authenticate']).toContain('Bearer')
  await (await withToken({ roles: ['boss'] })).get('/v1/datasets').expect(403)
  const token = await provider.sign({ datasets: ['census'] })
  await supertest(service.url).get('/v1/datasets').set('authorization', `Bearer ${token}`).expect(200)
  expect(service.logLines.join('\n')).not.toContain(token.slice(-40))
})

test('the OpenAPI document and Swagger UI offer the provider', async () => {
  const document = JSON.parse(await (await fetch(`${service.url}/openapi.json`)).text())
  expect(document.components.securitySchemes.accessToken).toMatchObject({
    type: 'openIdConnect',
    openIdConnectUrl: `${provider.issuer}/.well-known/openid-configuration`,
  })
  const { security } = document.paths['/v1/datasets/{dataset}/queries'].post
  expect(security).toEqual([{ analystKey: [] }, { accessToken: [] }])
  expect(document.paths['/v1/plots/risk'].get.security).toBeUndefined()
  const page = await fetch(`${service.url}/docs/`)
  expect(page.headers.get('content-security-policy')).toContain(`connect-src 'self' ${provider.issuer}`)
  const script = await (await fetch(`${service.url}/docs/static/swagger-initializer.js`)).text()
  expect(script).toContain('swagger-ui')
  expect(script).toContain('usePkceWithAuthorizationCodeGrant')
})
