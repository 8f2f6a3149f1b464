import type { components } from 'sotto-client'
import { api } from './api.ts'

export type Me = components['schemas']['Me']
export type Role = Me['role']

/** Returns who is signed in, or undefined until the service has told. */
export function useMe(): Me | undefined {
  return api.useQuery('get', '/v1/me', {}, { staleTime: Number.POSITIVE_INFINITY }).data
}
