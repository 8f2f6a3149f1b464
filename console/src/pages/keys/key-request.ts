import type { components } from 'sotto-client'

export type ApiKey = components['schemas']['ApiKey']
export type IssuedKey = components['schemas']['IssuedKey']
export type KeyRequest = components['schemas']['KeyRequest']

/** Times after which a new key can expire, and a date of choice. */
export const EXPIRIES = ['never', '30', '90', '365', 'date'] as const
export type Expiry = (typeof EXPIRIES)[number]

export const QUOTA_FIELDS = [
  'requestsPerMinute',
  'burst',
  'concurrentRequests',
  'storedBytesPerDataset',
] as const
export type QuotaField = (typeof QUOTA_FIELDS)[number]

/** Contents of the form for a new key, as they were entered. */
export interface KeyForm {
  readonly name: string
  readonly role: KeyRequest['role']
  readonly scope: 'all' | 'some'
  /** Ids of datasets that were chosen from the list. */
  readonly chosen: readonly string[]
  /** Further ids, separated by commas or spaces. */
  readonly further: string
  readonly expiry: Expiry
  /** Date as `YYYY-MM-DD`, for the expiry `date`. */
  readonly date: string
  readonly quota: Readonly<Partial<Record<QuotaField, string>>>
  readonly samePrincipal: boolean
}

const DAY_MS = 86_400_000

/** Returns the request for the key that a form describes. */
export function keyRequestOf(form: KeyForm, nowMs: number): KeyRequest {
  const expiresAt = expiryTimeOf(form, nowMs)
  const quota = Object.fromEntries(
    QUOTA_FIELDS.flatMap((field) => {
      const text = form.quota[field]?.trim() ?? ''
      return text === '' ? [] : [[field, Number(text)]]
    }),
  )
  return {
    name: form.name.trim(),
    role: form.role,
    ...(form.scope === 'all' ? {} : { datasets: datasetsOf(form) }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(Object.keys(quota).length === 0 ? {} : { quota }),
    samePrincipal: form.samePrincipal,
  }
}

/** Returns the ids of the datasets to which a form limits its key. */
export function datasetsOf({ chosen, further }: Pick<KeyForm, 'chosen' | 'further'>): string[] {
  return [...new Set([...chosen, ...further.split(/[\s,]+/).filter((id) => id !== '')])]
}

function expiryTimeOf({ expiry, date }: KeyForm, nowMs: number): string | undefined {
  switch (expiry) {
    case 'never':
      return undefined
    case 'date':
      return `${date}T00:00:00Z`
    case '30':
    case '90':
    case '365':
      return new Date(nowMs + Number(expiry) * DAY_MS).toISOString()
  }
}

/** True if a form has everything that a request needs. The service checks the values. */
export function isComplete(form: KeyForm): boolean {
  return (
    form.name.trim() !== '' &&
    (form.scope === 'all' || datasetsOf(form).length > 0) &&
    (form.expiry !== 'date' || form.date !== '')
  )
}

/** Validity of a key: for good, for more than two weeks, for less, or not any more. */
export type Validity = 'for-good' | 'limited' | 'ends-soon' | 'expired'

const SOON_MS = 14 * DAY_MS

export function validityOf({ expiresAt }: Pick<ApiKey, 'expiresAt'>, nowMs: number): Validity {
  if (expiresAt === undefined) return 'for-good'
  const leftMs = Date.parse(expiresAt) - nowMs
  if (leftMs <= 0) return 'expired'
  return leftMs < SOON_MS ? 'ends-soon' : 'limited'
}

/** Returns the keys whose id, role or datasets contain a text. */
export function keysMatching(keys: readonly ApiKey[], text: string): readonly ApiKey[] {
  const sought = text.trim().toLowerCase()
  if (sought === '') return keys
  return keys.filter(({ id, role, datasets = [] }) =>
    [id, role, ...datasets].some((fact) => fact.toLowerCase().includes(sought)),
  )
}
