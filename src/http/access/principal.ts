import { apiKey } from '../../../schemas/service/keys.ts'
import type { Wire } from '../../privacy/wire.ts'

export const ROLES = apiKey.shape.role.options

/** Role of a key; it decides which calls the key may make. */
export type Role = (typeof ROLES)[number]

/** Authenticated caller. Charges and releases belong to the name. */
export interface Principal {
  readonly name: string
  readonly role: Role
  /** Ids of the datasets that the principal may see and use; all of them if absent. */
  readonly datasets?: readonly string[]
  /** Limits of the key that differ from those of the configuration. */
  readonly quota?: Partial<Quota>
  /** `never` if nothing may be paid for with the key; `allow` if its sessions over PostgreSQL's protocol begin by allowing it. */
  readonly spending?: 'never' | 'allow'
  readonly settings?: KeySettings
  /** Id of the API key, if the principal signed in with one. */
  readonly key?: string
}

type KeyFacts = Wire<typeof apiKey>

/** Settings with which sessions over PostgreSQL's protocol begin. At most one of price and precision. */
export type KeySettings = NonNullable<KeyFacts['settings']>

/** Limits on the use of the service by one principal. */
export type Quota = Required<NonNullable<KeyFacts['quota']>>

/** True if a principal may see and use a dataset. */
export function mayUse({ datasets }: Principal, dataset: string): boolean {
  return datasets === undefined || datasets.includes(dataset)
}
