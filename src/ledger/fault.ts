/**
 * Why a ledger cannot do what it was asked:
 * - `in-use`: another process, or this one, has the store open;
 * - `unusable`: the store is not a ledger, is from a newer release, is corrupt, or cannot be written;
 * - `unknown`: the commit failed, so the operation may or may not be durable: treat its cost as spent and ask again;
 * - `stopped`: the store met an error it must not continue after; what was under way is `unknown` too, and a restart
 *   recovers what is durable;
 * - `closed`: {@link Ledger.close} was called before.
 */
export type LedgerFaultKind = 'in-use' | 'unusable' | 'unknown' | 'stopped' | 'closed'

/** A failure of the store itself, never of one request: nothing was acknowledged. */
export class LedgerFault extends Error {
  readonly kind: LedgerFaultKind

  constructor(kind: LedgerFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'LedgerFault'
    this.kind = kind
  }
}
