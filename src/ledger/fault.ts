/**
 * Reason for the failure of a ledger:
 * - `in-use`: the store is open in another process, or already in this one;
 * - `unusable`: the store is not a ledger, is from a newer release, is corrupt, or cannot be written;
 * - `unknown`: the commit failed, and the operation may or may not be durable: consider its cost as spent and repeat
 *   it;
 * - `stopped`: the store met an error after which it must not continue. Operations that were under way are `unknown`
 *   too, and a restart recovers what is durable;
 * - `closed`: {@link Ledger.close} was called before.
 */
export type LedgerFaultKind = 'in-use' | 'unusable' | 'unknown' | 'stopped' | 'closed'

/** A failure of the store itself, not of one request. No operation was acknowledged. */
export class LedgerFault extends Error {
  readonly kind: LedgerFaultKind

  constructor(kind: LedgerFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'LedgerFault'
    this.kind = kind
  }
}
