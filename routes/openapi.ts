import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { SECURITY_SCHEMES } from './access.ts'

/** How the OpenAPI document is made from the routes' schemas. */
export const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Sotto',
      version: '1',
      description:
        'Statistical queries over registered datasets, answered with differential privacy.\n\n' +
        'Press **Authorize** and paste the keys from the data folder (`analyst.key`, `custodian.key`); then every ' +
        'operation can be tried as it stands.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'Queries', description: 'Ask, and see what was answered.' },
      { name: 'Datasets', description: 'What can be asked about.' },
      { name: 'Budgets', description: 'What may still be revealed.' },
      { name: 'Operation', description: 'For whoever runs the service.' },
    ],
    components: { securitySchemes: SECURITY_SCHEMES },
  },
  transform: createJsonSchemaTransform({ skipList: [] }),
  transformObject: createJsonSchemaTransformObject({}),
}
