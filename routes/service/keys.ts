import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { issuedKey, keyList, keyParameters, keyRequest, rotationRequest } from '../../schemas/service/keys.ts'
import { pageQuery } from '../../schemas/values.ts'
import type { KeyActRecorder } from '../../src/http/access/identity.ts'
import type { IssuedKey, KeyStore } from '../../src/http/access/keys/keys.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { pageOf } from '../../src/http/paging.ts'

interface KeysOptions {
  readonly keys: KeyStore
  readonly keyActs: Pick<KeyActRecorder, 'recordPending'>
}

/** Management of API keys. Changes take effect on every replica at once. */
export const keysRoutes: FastifyPluginAsyncZod<KeysOptions> = async (app, { keys, keyActs }) => {
  app.get('/v1/keys', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Keys'],
      operationId: 'listKeys',
      summary: 'List the API keys',
      description:
        'Contains neither keys nor digests. A custodian whose key is limited to datasets sees only keys that are limited to ' +
        'some of these.',
      querystring: pageQuery,
      response: { 200: keyList },
    },
    handler: async (request, reply) => {
      const managed = await keys.list(principalOf(request))
      const { items, next } = pageOf(request, reply, managed, ({ id }) => id)
      return { keys: items, next }
    },
  })

  app.post('/v1/keys', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Keys'],
      operationId: 'createKey',
      summary: 'Create an API key',
      description:
        'The response contains the key; it is shown only here. The key is valid at once. A custodian whose key is ' +
        'limited to datasets can create keys for these only.',
      body: keyRequest,
      response: { 201: issuedKey.describe('The key was created.') },
    },
    handler: async (request, reply) => {
      const issued = await keys.create(request.body, principalOf(request))
      await keyActs.recordPending()
      return reply.code(201).header('location', `/v1/keys/${issued.apiKey.id}`).send(describe(issued))
    },
  })

  app.post('/v1/keys/:id/rotate', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Keys'],
      operationId: 'rotateKey',
      summary: 'Replace an API key',
      description:
        'Returns a new key under the same id. The previous key stays valid for the overlap, so that its users can change to ' +
        'the new one at different times.',
      params: keyParameters,
      body: rotationRequest,
      response: { 200: issuedKey },
    },
    handler: async (request) => {
      const { overlapSeconds } = request.body
      const issued = await keys.rotate(request.params.id, overlapSeconds, principalOf(request))
      await keyActs.recordPending()
      return describe(issued)
    },
  })

  app.delete('/v1/keys/:id', {
    config: { roles: ['custodian'] },
    schema: {
      tags: ['Keys'],
      operationId: 'deleteKey',
      summary: 'Delete an API key',
      description:
        'The key is not valid from then on. Releases, spending and allotments of its principal remain. The last key of ' +
        'a custodian for all datasets cannot be deleted.',
      params: keyParameters,
      response: { 204: z.null().describe('The key was deleted.') },
    },
    handler: async (request, reply) => {
      await keys.delete(request.params.id, principalOf(request))
      await keyActs.recordPending()
      return reply.code(204).send(null)
    },
  })
}

function describe({ apiKey, text }: IssuedKey) {
  return { ...apiKey, key: text }
}
