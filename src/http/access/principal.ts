export const ROLES = ['analyst', 'custodian', 'auditor'] as const

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

/** Settings with which sessions over PostgreSQL's protocol begin. At most one of price and precision. */
export interface KeySettings {
  readonly epsilon?: number
  readonly halfWidth?: number
  readonly halfWidths?: boolean
}

/** Limits on the use of the service by one principal. */
export interface Quota {
  /** Requests per minute in the long run. */
  readonly requestsPerMinute: number
  /** Requests that may arrive at once, after a pause. */
  readonly burst: number
  /** Requests that may be under way at a time, including those that wait for a turn. */
  readonly concurrentRequests: number
  /** Bytes of answers and denials that the ledger may store for the principal, per dataset. */
  readonly storedBytesPerDataset: number
}

export const QUOTA_FIELDS = [
  'requestsPerMinute',
  'burst',
  'concurrentRequests',
  'storedBytesPerDataset',
] as const satisfies readonly (keyof Quota)[]

/** True if a principal may see and use a dataset. */
export function mayUse({ datasets }: Principal, dataset: string): boolean {
  return datasets === undefined || datasets.includes(dataset)
}
