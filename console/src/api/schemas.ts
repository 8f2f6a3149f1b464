import type { components } from 'sotto-client'

/** Documents of the service, by their names in openapi.yaml. */
export type Schemas = components['schemas']
