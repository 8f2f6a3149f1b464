import type { Accounting, Amount } from '../privacy/accounting.ts'
import type { DeltaAtto, EpsilonNano, RhoPico } from '../privacy/loss.ts'
import { NO_LOSS, rhoPico } from '../privacy/loss.ts'

/** An amount as the stores' tables hold it: the units that its accounting does not count are 0. */
export interface AmountColumns {
  readonly epsilonNano: EpsilonNano
  readonly deltaAtto: DeltaAtto
  readonly rhoPico: RhoPico
}

export function columnsOf(amount: Amount): AmountColumns {
  switch (amount.accounting) {
    case 'basic':
      return { epsilonNano: amount.epsilonNano, deltaAtto: amount.deltaAtto, rhoPico: rhoPico(0n) }
    case 'zcdp':
      return { ...NO_LOSS, rhoPico: amount.rhoPico }
  }
}

export function amountFromColumns(accounting: Accounting, columns: AmountColumns): Amount {
  switch (accounting) {
    case 'basic':
      return { accounting, epsilonNano: columns.epsilonNano, deltaAtto: columns.deltaAtto }
    case 'zcdp':
      return { accounting, rhoPico: columns.rhoPico }
  }
}
