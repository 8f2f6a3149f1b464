import type { ExportedEvent } from './export-lines.ts'
import { addUnits, covers, type Units, unitsOf } from './units.ts'

/** Balances and charges of a dataset, recomputed from its events. */
export interface Balances {
  cap: Units
  spent: Units
  /** Amount that each analyst paid, with the releases that another analyst had paid for. */
  readonly analysts: Map<string, Units>
  /** State of each charge by its id. */
  readonly charges: Map<string, 'denied' | 'charged' | 'answered'>
}

export function emptyBalances(): Balances {
  return { cap: {}, spent: {}, analysts: new Map(), charges: new Map() }
}

/**
 * Applies an event to the balances.
 * @returns the reason why the event is not possible at its position
 * @throws RangeError if the event has no valid amount
 */
export function applyEvent(balances: Balances, event: ExportedEvent): string | undefined {
  const { kind, chargeId = '', limit, loss } = event
  const opens = kind === 'opened'
  if (opens !== (event.sequence === 1)) return opens ? 'the budget is already open' : 'the budget is not open'
  switch (kind) {
    case 'opened':
    case 'cap-replaced':
      balances.cap = unitsOf(limit ?? loss)
      return undefined
    case 'granted':
      // Under zCDP the event has the resulting cap, otherwise what is added to it.
      balances.cap = limit === undefined ? addUnits(balances.cap, unitsOf(loss)) : unitsOf(limit)
      return undefined
    case 'charged':
    case 'shared':
      return charge(balances, event)
    case 'denied':
      if ((balances.charges.get(chargeId) ?? 'denied') !== 'denied') return 'a paid charge is denied'
      balances.charges.set(chargeId, 'denied')
      return undefined
    case 'answered':
      if (balances.charges.get(chargeId) !== 'charged') return 'the answer has no open charge'
      balances.charges.set(chargeId, 'answered')
      return undefined
    case 'session-answered':
      return balances.charges.get(chargeId) === 'answered' ? undefined : 'the session was not opened'
    default:
      return undefined
  }
}

function charge(
  balances: Balances,
  { kind, chargeId = '', principal, loss }: ExportedEvent,
): string | undefined {
  if ((balances.charges.get(chargeId) ?? 'denied') !== 'denied') return 'the charge is already debited'
  const price = unitsOf(loss)
  balances.charges.set(chargeId, 'charged')
  balances.analysts.set(principal, addUnits(balances.analysts.get(principal) ?? {}, price))
  if (kind === 'shared') return undefined
  balances.spent = addUnits(balances.spent, price)
  return covers(balances.cap, balances.spent) ? undefined : 'the charge exceeds the cap'
}
