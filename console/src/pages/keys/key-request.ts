import { defined } from '../../../../src/privacy/defined.ts'
import type { Schemas } from '../../api/schemas.ts'

export type ApiKey = Schemas['ApiKey']
export type IssuedKey = Schemas['IssuedKey']
export type KeyRequest = Schemas['KeyRequest']

/** Times after which a new key can expire, and a date of choice, with their titles. */
export const EXPIRIES = [
  ['never', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In one year'],
  ['date', 'At a date'],
] as const

/** Limits on requests, with their titles. */
export const QUOTA_FIELDS = [
  ['requestsPerMinute', 'Requests per minute'],
  ['burst', 'Requests at once'],
  ['concurrentRequests', 'Requests under way'],
  ['storedBytesPerDataset', 'Stored bytes per dataset'],
] as const

/** Contents of the form for a new key, as they were entered. */
export interface KeyForm {
  readonly name: string
  readonly role: KeyRequest['role']
  readonly scope: 'all' | 'some'
  /** Ids of datasets that were chosen from the list. */
  readonly chosen: readonly string[]
  /** Further ids, separated by commas or spaces. */
  readonly further: string
  readonly expiry: (typeof EXPIRIES)[number][0]
  /** Date as `YYYY-MM-DD`, for the expiry `date`. */
  readonly date: string
  readonly quota: Readonly<Partial<Record<(typeof QUOTA_FIELDS)[number][0], string>>>
  readonly samePrincipal: boolean
  /** Whether the key may pay for answers. With `session`, each session over the PostgreSQL protocol decides. */
  readonly spending: 'session' | 'never' | 'allow'
  /** Price of each query in sessions over that protocol. */
  readonly epsilon: string
  /** Whether those sessions return columns of half-widths. */
  readonly halfWidths: boolean
}

const DAY_MS = 86_400_000

/** Returns the request for the key that a form describes. */
export function keyRequestOf(form: KeyForm, nowMs: number): KeyRequest {
  const quota = Object.fromEntries(
    QUOTA_FIELDS.flatMap(([field]) => {
      const text = form.quota[field]?.trim() ?? ''
      return text === '' ? [] : [[field, Number(text)]]
    }),
  )
  return defined({
    name: form.name.trim(),
    role: form.role,
    datasets: form.scope === 'all' ? undefined : datasetsOf(form),
    expiresAt: expiryTimeOf(form, nowMs),
    quota: Object.keys(quota).length === 0 ? undefined : quota,
    samePrincipal: form.samePrincipal,
    ...(form.role === 'analyst' && sessionTermsOf(form)),
  })
}

function sessionTermsOf({
  spending,
  epsilon,
  halfWidths,
}: KeyForm): Pick<KeyRequest, 'spending' | 'settings'> {
  const price = epsilon.trim() === '' ? undefined : Number(epsilon)
  const settings = defined({ epsilon: price, halfWidths: halfWidths || undefined })
  return defined({
    spending: spending === 'session' ? undefined : spending,
    settings: Object.keys(settings).length === 0 ? undefined : settings,
  })
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
