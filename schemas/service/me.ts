import { z } from 'zod'
import { datasetId } from '../datasets/dataset.ts'
import { listOf, object, role, string } from '../values.ts'

/** GET /v1/me */
export const me = object('Me', 'The caller, as the service knows it.', {
  name: string('Principal that the key or token identifies. Releases and spending belong to it.'),
  role,
  datasets: listOf(datasetId)
    .optional()
    .describe('Datasets to which the key is limited. Absent if it may use all.'),
})

/** GET /v1/sign-in */
export const signInReport = object('SignIn', 'Ways to sign in besides API keys.', {
  provider: z
    .strictObject({
      issuer: string('Issuer of the OpenID provider.'),
      audience: string('Audience that access tokens must have.'),
      clientId: string('Client with which a browser signs in.').optional(),
    })
    .optional()
    .describe('Only if the service accepts access tokens.'),
})
