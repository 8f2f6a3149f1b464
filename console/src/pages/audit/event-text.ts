import type { components } from 'sotto-client'
import { formatAmount } from '../../format/amount.ts'
import { formatTime } from '../../format/time.ts'

export type LedgerEntry = components['schemas']['LedgerEntry']
export type Act = components['schemas']['AdministrativeAct']

/** Group of an event, by which the timeline marks it. */
export type EventTone = 'plain' | 'accent' | 'cost' | 'danger' | 'success'

/** Tone of each kind of event of a dataset. */
export const EVENT_TONES: Readonly<Record<LedgerEntry['kind'], EventTone>> = {
  opened: 'success',
  granted: 'success',
  'cap-replaced': 'success',
  allotted: 'success',
  'source-reused': 'cost',
  charged: 'cost',
  shared: 'cost',
  denied: 'danger',
  retried: 'plain',
  answered: 'accent',
  failed: 'danger',
  'session-answered': 'accent',
  'session-failed': 'danger',
  suspended: 'danger',
  resumed: 'success',
}

/** Says in a sentence what an event of a dataset was. */
export function eventText(entry: LedgerEntry): string {
  const { kind, principal, amount, analyst } = entry
  const price = amount === undefined ? '' : formatAmount(amount)
  switch (kind) {
    case 'opened':
      return `${principal} opened the budget with ${price}`
    case 'granted':
      return `${principal} raised the cap by ${price}`
    case 'cap-replaced':
      return `${principal} replaced the cap by ${price}`
    case 'allotted':
      return price === ''
        ? `${principal} removed the limit of ${analyst}`
        : `${principal} limited ${analyst} to ${price}`
    case 'source-reused':
      return `${principal} registered the same data under another budget as well`
    case 'charged':
      return `${principal} paid ${price}`
    case 'shared':
      return `${principal} paid ${price} from the allotment, for a stored answer`
    case 'denied':
      return `${principal} was denied ${price}`
    case 'retried':
      return `Another attempt for ${principal} began`
    case 'answered':
      return `${principal} got an answer`
    case 'failed':
      return `An attempt for ${principal} failed`
    case 'session-answered':
      return `${principal} got an answer in a session`
    case 'session-failed':
      return `A question of ${principal} in a session failed`
    case 'suspended':
      return 'Failures suspended the dataset'
    case 'resumed':
      return `${principal} resumed the dataset`
  }
}

/** Says in a sentence what an administrative act was. */
export function actText({ kind, principal, subject }: Act): string {
  switch (kind) {
    case 'key-created':
      return `${principal} created the key ${subject}`
    case 'key-rotated':
      return `${principal} rotated the key ${subject}`
    case 'key-deleted':
      return `${principal} deleted the key ${subject}`
    case 'sign-in-refused':
      return `Sign-ins from ${subject} were refused`
    case 'dataset-registered':
      return `${principal} registered ${subject}`
    case 'source-refused':
      return `The source of ${subject} was refused`
    case 'version-published':
      return `${principal} published a version of ${subject}`
    case 'dataset-described':
      return `${principal} changed the descriptions of ${subject}`
    case 'dataset-withdrawn':
      return `${principal} withdrew ${subject}`
    case 'budget-granted':
      return `${principal} raised the cap of ${subject}`
    case 'budget-replaced':
      return `${principal} replaced the cap of ${subject}`
    case 'allotment-set':
      return `${principal} changed an allotment on ${subject}`
    case 'dataset-suspended':
      return `Failures suspended ${subject}`
    case 'dataset-resumed':
      return `${principal} resumed ${subject}`
  }
}

/** Formats the further facts of an act, without the reference to an event of a dataset. */
export function factsText({ facts }: Pick<Act, 'facts'>): string {
  return Object.entries(facts)
    .filter(([name]) => name !== 'sequence' && name !== 'hash')
    .map(([name, value]) => `${wordsOf(name)}: ${factText(value)}`)
    .join(' · ')
}

/** Writes a name such as `changedAt` as words. */
function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

function factText(value: Act['facts'][string]): string {
  if (Array.isArray(value)) return value.join(', ')
  if (value === true) return 'yes'
  if (value === false) return 'no'
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)
    ? `${formatTime(value)} UTC`
    : String(value)
}
