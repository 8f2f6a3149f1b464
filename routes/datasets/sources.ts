import fastifyMultipart from '@fastify/multipart'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { sourceParameters, upload, uploadList, uploadRequest } from '../../schemas/datasets/sources.ts'
import { pageQuery } from '../../schemas/values.ts'
import type { Uploads } from '../../src/datasets/registration/uploads.ts'
import { principalOf } from '../../src/http/access/roles.ts'
import { pageOf } from '../../src/http/paging.ts'
import { type Refusal, refuseField } from '../../src/privacy/refusal.ts'

interface SourcesOptions {
  readonly uploads: Uploads
  /** Largest size of an upload. */
  readonly uploadMaxBytes: number
}

/** Time limit for an upload. */
export const UPLOAD_TIMEOUT_MS = 3_600_000
/** Time limit for a pause during an upload. */
const UPLOAD_IDLE_MS = 30_000

/** Uploads of files, which become sources of registrations. */
export const sourcesRoutes: FastifyPluginAsyncZod<SourcesOptions> = async (app, options) => {
  const { uploads } = options
  const tags = ['Registration']

  await app.register(receivingRoute, options)

  app.get('/v1/sources', {
    config: { roles: ['custodian'] },
    schema: {
      tags,
      operationId: 'listSources',
      summary: 'List your uploads',
      description: 'Lists the uploads of the caller that have not expired.',
      querystring: pageQuery,
      response: { 200: uploadList },
    },
    handler: async (request, reply) => {
      const uploaded = await uploads.list(principalOf(request).name)
      const { items, next } = pageOf(request, reply, uploaded, ({ id }) => id)
      return { sources: items, next }
    },
  })

  app.delete('/v1/sources/:source', {
    config: { roles: ['custodian'] },
    schema: {
      tags,
      operationId: 'deleteSource',
      summary: 'Delete an upload',
      description: 'Deletes one of your uploads. Datasets that were registered from it are not affected.',
      params: sourceParameters,
      response: { 204: z.null().describe('The upload was deleted.') },
    },
    handler: async (request, reply) => {
      await uploads.delete(principalOf(request).name, request.params.source)
      return reply.code(204).send(null)
    },
  })
}

/** The route that receives files. It has a scope of its own, because no other route reads multipart bodies. */
const receivingRoute: FastifyPluginAsyncZod<SourcesOptions> = async (app, { uploads, uploadMaxBytes }) => {
  app.removeAllContentTypeParsers()
  // One byte more than the limit, which the uploads check themselves.
  const limits = { files: 1, fields: 0, parts: 1, fileSize: uploadMaxBytes + 1, fieldNameSize: 100 }
  await app.register(fastifyMultipart, { limits, throwFileSizeLimit: false })

  app.post('/v1/sources', {
    config: {
      roles: ['custodian'],
      mediaType: 'multipart/form-data',
      bodyTime: { totalMs: UPLOAD_TIMEOUT_MS, idleMs: UPLOAD_IDLE_MS },
    },
    // The body is a stream. Its schema only documents it.
    validatorCompiler: () => (value) => ({ value }),
    schema: {
      tags: ['Registration'],
      operationId: 'uploadSource',
      summary: 'Upload a file',
      description:
        'Stores a CSV or Parquet file, which a registration then names as its source: ' +
        '`{"kind": "upload", "upload": "<id>", "format": "csv"}`. Only the caller can use it. It expires.',
      consumes: ['multipart/form-data'],
      body: uploadRequest,
      response: { 201: upload.describe('The file was stored.') },
    },
    handler: async (request, reply) => {
      const parts = request.parts()
      const { value: part } = await parts.next().catch(refuseForm)
      if (part?.type !== 'file' || part.fieldname !== 'file') throw refusePart()
      const file = { name: part.filename ?? '', chunks: onlyPart(part.file, parts) }
      const stored = await uploads.receive(principalOf(request).name, file)
      return reply.code(201).header('location', `/v1/sources/${stored.id}`).send(stored)
    },
  })
}

/** Yields the bytes of a part, and requires that no other part follows. */
async function* onlyPart(
  bytes: AsyncIterable<Buffer>,
  parts: AsyncIterator<unknown>,
): AsyncGenerator<Buffer> {
  try {
    yield* bytes
    // A body that ends without its last boundary is not complete, and fails here.
    const next = await parts.next()
    if (next.done === true) return
  } catch (error) {
    refuseForm(error)
  }
  throw refusePart()
}

/** Refuses a body that the parser of forms cannot read. */
function refuseForm(error: unknown): never {
  const isOfFramework = error instanceof Error && 'code' in error && String(error.code).startsWith('FST_')
  throw isOfFramework ? error : refusePart()
}

function refusePart(): Refusal {
  return refuseField('invalid-request', 'file', 'must be the only part of a complete form, a file')
}
