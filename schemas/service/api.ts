import { z } from 'zod'
import { boolean, object, string } from '../values.ts'

/** What clients can rely on, for readers of the API. docs/versions.md has the promises. */
export const STABILITY =
  'Stable from version 1.0.0 of the service: paths, fields and problem codes then stay within `/v1`. Before that, any minor ' +
  'version may change them, and the changelog says how. New fields may appear at any time: ignore those that you do not know. ' +
  'What ends is announced in the changelog and by the headers `Deprecation` and `Sunset`.'

/** Response to GET /v1/. */
export const apiReport = object('Api', 'Version of the API, and what clients can rely on.', {
  version: z.literal('v1'),
  softwareVersion: string('Version of Sotto that answers.'),
  stable: boolean('True from version 1.0.0 of the service.'),
  statement: string('What stays the same between versions, in words.'),
  links: z.strictObject({
    description: z.literal('/openapi.json'),
    guide: z.literal('/guide/'),
    versions: z.literal('/guide/versions.html'),
  }),
})
