import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { datasetParameters } from '../../schemas/datasets/dataset.ts'
import { DEFAULT_SIZE, dummyFile, dummyQuery } from '../../schemas/datasets/dummy.ts'
import type { Catalog } from '../../src/datasets/catalog/catalog.ts'
import type { DummySize } from '../../src/datasets/dummy/declaration.ts'
import type { Dummies, DummyFile, DummyFormat } from '../../src/datasets/dummy/dummies.ts'
import { firstPeople } from '../../src/datasets/dummy/population.ts'
import { requireDataset } from '../../src/http/access/permitted-datasets.ts'
import { EVERYONE, principalOf } from '../../src/http/access/roles.ts'
import { givenUpSignal } from '../../src/http/caller.ts'

interface DummyOptions {
  readonly catalog: Catalog
  readonly dummies: Pick<Dummies, 'file' | 'population'>
}

const MEDIA_TYPES: Readonly<Record<DummyFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
}

/** Files of made-up rows to practise on. */
export const dummyRoutes: FastifyPluginAsyncZod<DummyOptions> = async (app, { catalog, dummies }) => {
  app.get('/v1/datasets/:dataset/dummy', {
    config: { roles: EVERYONE },
    schema: {
      tags: ['Datasets'],
      operationId: 'getDummyRows',
      summary: 'Get made-up rows to practise on',
      description:
        'Returns rows that are made up from the declaration of the dataset alone: its columns with their bounds, steps and ' +
        'categories, and its privacy unit. They reveal nothing about the data, and cost nothing. The response has the header ' +
        '`Sotto-Dummy: true`. `on=dummy` answers queries over the same rows. With `of=population` it returns the own rows of a ' +
        'dataset whose people are made up.',
      params: datasetParameters,
      querystring: dummyQuery,
      response: { 200: dummyFile },
    },
    handler: async (request, reply) => {
      const givenUp = givenUpSignal(reply)
      const principal = principalOf(request)
      const { dataset } = requireDataset(catalog, principal, request.params.dataset)
      const { of, format, ...asked } = request.query
      const caller = { principal: principal.name, givenUp }
      const size = sizeOf(asked)
      const file =
        of === 'population'
          ? await dummies.population(firstPeople(dataset, { ...size, seed: asked.seed }), format, caller)
          : await dummies.file(dataset, size, format, caller)
      return sendFile(reply, file, `${dataset.id}-${of === 'population' ? of : 'dummy'}.${format}`, format)
    },
  })
}

/** Returns the size of made-up rows, with defaults for what a request does not state. */
export function sizeOf({
  rows,
  seed,
}: { readonly [Field in keyof DummySize]?: DummySize[Field] | undefined }): DummySize {
  return { rows: rows ?? DEFAULT_SIZE.rows, seed: seed ?? DEFAULT_SIZE.seed }
}

function sendFile(
  reply: FastifyReply,
  { stream, bytes }: DummyFile,
  name: string,
  format: DummyFormat,
): FastifyReply {
  return reply
    .type(MEDIA_TYPES[format])
    .header('sotto-dummy', 'true')
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('content-length', bytes)
    .send(stream)
}
