import type { Schemas } from '../../api/schemas.ts'
import { formatAmount } from '../../format/amount.ts'
import { formatTime } from '../../format/time.ts'

/** Name of the chain of administrative acts, in the place of a dataset id. */
export const ADMINISTRATION = '@administration'

export type LedgerEntry = Schemas['LedgerEntry']
export type Act = Schemas['AdministrativeAct']

/** Group of an event, by which the timeline marks it. */
export type EventTone = 'plain' | 'accent' | 'cost' | 'danger' | 'success'

/** Tone and text of each kind of event of a dataset, from who caused it and an amount. */
const EVENTS: Readonly<
  Record<
    LedgerEntry['kind'],
    readonly [tone: EventTone, text: (by: string, amount: string, analyst?: string) => string]
  >
> = {
  opened: ['success', (by, amount) => `${by} opened the budget with ${amount}`],
  granted: ['success', (by, amount) => `${by} raised the cap by ${amount}`],
  'cap-replaced': ['success', (by, amount) => `${by} replaced the cap by ${amount}`],
  allotted: [
    'success',
    (by, amount, analyst) =>
      amount === '' ? `${by} removed the limit of ${analyst}` : `${by} limited ${analyst} to ${amount}`,
  ],
  'source-reused': ['cost', (by) => `${by} registered the same data under another budget as well`],
  joined: ['plain', (by) => `${by} made the dataset part of a population`],
  carried: ['cost', (_, amount, analyst) => `${analyst} had spent ${amount} on a dataset that joined`],
  charged: ['cost', (by, amount) => `${by} paid ${amount}`],
  shared: ['cost', (by, amount) => `${by} paid ${amount} from the allotment, for a stored answer`],
  inferred: ['plain', (by) => `${by} got an answer that follows from paid ones`],
  denied: ['danger', (by, amount) => `${by} was denied ${amount}`],
  retried: ['plain', (by) => `Another attempt for ${by} began`],
  answered: ['accent', (by) => `${by} got an answer`],
  failed: ['danger', (by) => `An attempt for ${by} failed`],
  'session-answered': ['accent', (by) => `${by} got an answer in a session`],
  'session-failed': ['danger', (by) => `A question of ${by} in a session failed`],
  suspended: ['danger', () => 'Failures suspended the dataset'],
  resumed: ['success', (by) => `${by} resumed the dataset`],
}

/** Says in a sentence what an event of a dataset was, with the tone that marks it. */
export function describeEvent({ kind, principal, amount, analyst }: LedgerEntry) {
  const [tone, text] = EVENTS[kind]
  return { tone, text: text(principal, amount === undefined ? '' : formatAmount(amount), analyst) }
}

/** Text of each kind of administrative act, from who did it and what it was about. */
const ACTS: Readonly<Record<Act['kind'], (by: string, subject: string) => string>> = {
  'key-created': (by, subject) => `${by} created the key ${subject}`,
  'key-rotated': (by, subject) => `${by} rotated the key ${subject}`,
  'key-deleted': (by, subject) => `${by} deleted the key ${subject}`,
  'sign-in-refused': (_, subject) => `Sign-ins from ${subject} were refused`,
  'dataset-registered': (by, subject) => `${by} registered ${subject}`,
  'source-refused': (_, subject) => `The source of ${subject} was refused`,
  'version-published': (by, subject) => `${by} published a version of ${subject}`,
  'dataset-described': (by, subject) => `${by} changed the descriptions of ${subject}`,
  'dataset-withdrawn': (by, subject) => `${by} withdrew ${subject}`,
  'budget-granted': (by, subject) => `${by} raised the cap of ${subject}`,
  'budget-replaced': (by, subject) => `${by} replaced the cap of ${subject}`,
  'allotment-set': (by, subject) => `${by} changed an allotment on ${subject}`,
  'population-created': (by, subject) => `${by} created ${subject}`,
  'population-joined': (by, subject) => `${by} made a dataset part of ${subject}`,
  'dataset-suspended': (_, subject) => `Failures suspended ${subject}`,
  'dataset-resumed': (by, subject) => `${by} resumed ${subject}`,
}

/** Says in a sentence what an administrative act was. */
export function actText({ kind, principal, subject }: Act): string {
  return ACTS[kind](principal, subject)
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
