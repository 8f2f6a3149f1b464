import { z } from 'zod'
import { datasetId } from '../datasets/dataset.ts'
import { listOf, role } from '../values.ts'

/** GET /v1/me */
export const me = z
  .strictObject({
    name: z
      .string()
      .describe('Principal that the key or token identifies. Releases and spending belong to it.'),
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
        issuer: z.string().describe('Issuer of the OpenID provider.'),
        audience: z.string().describe('Audience that access tokens must have.'),
        clientId: z.string().optional().describe('Client with which a browser signs in.'),
      })
      .optional()
      .describe('Only if the service accepts access tokens.'),
  })
  .meta({ id: 'SignIn', description: 'Ways to sign in besides API keys.' })
