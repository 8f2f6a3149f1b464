import { z } from 'zod'
import { datasetId } from '../datasets/dataset.ts'
import { listOf, role, string } from '../values.ts'

/** GET /v1/me */
export const me = z
  .strictObject({
    name: string('Principal that the key or token identifies. Releases and spending belong to it.'),
    role,
    datasets: listOf(datasetId)
      .optional()
      .describe('Datasets to which the key is limited. Absent if it may use all.'),
  })
  .meta({ id: 'Me', description: 'The caller, as the service knows it.' })

/** GET /v1/sign-in */
export const signInReport = z
  .strictObject({
    provider: z
      .strictObject({
        issuer: string('Issuer of the OpenID provider.'),
        audience: string('Audience that access tokens must have.'),
        clientId: string('Client with which a browser signs in.').optional(),
      })
      .optional()
      .describe('Only if the service accepts access tokens.'),
  })
  .meta({ id: 'SignIn', description: 'Ways to sign in besides API keys.' })
