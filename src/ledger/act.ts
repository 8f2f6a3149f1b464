import { ACT_KINDS, type ActKind } from '../privacy/event-kinds.ts'
import type { Act } from './contract/acts.ts'
import type { LedgerEvent } from './event.ts'

/** Kinds of acts that refer to an event of the dataset's chain. */
const REFERRING: readonly ActKind[] = [
  'budget-granted',
  'budget-replaced',
  'allotment-set',
  'population-created',
  'population-joined',
  'dataset-suspended',
  'dataset-resumed',
]

/** True if an event is an administrative act. */
function isActKind(kind: LedgerEvent['kind']): kind is ActKind {
  return typeof kind === 'string' && Object.hasOwn(ACT_KINDS, kind)
}

/** Longest subject of an act, in characters. */
const MAX_SUBJECT_LENGTH = 512
/** Largest size of the facts of an act as JSON, in characters. It bounds what an act adds to the ledger. */
const MAX_FACTS_LENGTH = 4_096

/**
 * Finds the reason why an event cannot be in the chain of administrative acts, apart from its place in the chain.
 * Verification and the protocol share it.
 */
export function reasonAgainstAct({
  kind,
  subject,
  facts = {},
}: Pick<LedgerEvent, 'kind' | 'subject' | 'facts'>): string | undefined {
  if (!isActKind(kind)) return `the act has the unknown kind ${JSON.stringify(kind)}`
  if (typeof subject !== 'string' || subject === '' || subject.length > MAX_SUBJECT_LENGTH)
    return 'the act has no valid subject'
  if (!Object.entries(facts).every(([name, value]) => /^[a-z]\w{0,63}$/i.test(name) && isFact(value)))
    return 'the act has a fact that is neither a text, a number, a boolean nor a list of texts'
  if (JSON.stringify(facts).length > MAX_FACTS_LENGTH) return 'the facts of the act are too long'
  const { sequence, hash } = facts
  const refers = Number.isSafeInteger(sequence) && /^[0-9a-f]{64}$/.test(String(hash))
  return REFERRING.includes(kind) && !refers ? 'the act refers to no event' : undefined
}

function isFact(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each === 'string')
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

/**
 * Converts a stored event to an act.
 * @throws SyntaxError or RangeError if the stored text is not one.
 */
export function actFromEvent(canonical: string, hash: string): Act {
  const { sequence, kind, at, principal, subject, facts = {} }: LedgerEvent = JSON.parse(canonical)
  if (!isActKind(kind) || subject === undefined) throw new RangeError('the event is not an act')
  return { sequence, kind, at, principal, subject, facts, hash }
}
