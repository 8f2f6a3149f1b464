import path from 'node:path'
import type { ChargeRequest } from '../../ledger/contract/charges.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { openSqliteLedger } from '../../ledger/sqlite/ledger.ts'
import { coversAmount, subtractAmounts } from '../../privacy/accounting.ts'
import {
  deltaAtto,
  epsilonNano,
  MAX_BUDGET_EPSILON,
  ONE_DELTA_ATTO,
  ONE_EPSILON_NANO,
} from '../../privacy/loss.ts'
import type { Neighbours } from '../../privacy/neighbours.ts'
import { refuseField } from '../../privacy/refusal.ts'

/** The largest cap that a ledger holds. */
const CAP = {
  accounting: 'basic',
  epsilonNano: epsilonNano(BigInt(MAX_BUDGET_EPSILON) * ONE_EPSILON_NANO),
  deltaAtto: deltaAtto(ONE_DELTA_ATTO - 1n),
} as const

/**
 * Opens a new ledger for the releases of one audit. Charges are made and stored as in any ledger, but no budget limits
 * their number: when a budget is used up, the next charges are made to a new one. The releases of an audit may
 * therefore cost a total delta above 1, without which a delta cannot be measured.
 *
 * @param directory an empty folder, which the caller removes once the ledger is closed
 */
export async function openAuditLedger(directory: string, neighbours: Neighbours): Promise<Ledger> {
  const ledger = await openSqliteLedger({ path: path.join(directory, 'ledger.sqlite') })
  const openBudget = async (number: number): Promise<string> => {
    const id = `audit-${number}`
    await ledger.openBudget(id, { accounting: 'basic', granted: CAP, neighbours }, 'auditor')
    return id
  }
  let opened = 0
  let left = subtractAmounts(CAP, CAP)
  let budget = Promise.resolve('')
  return {
    ...ledger,
    async charge(request: ChargeRequest) {
      const { price } = request
      if (!coversAmount(CAP, price))
        throw refuseField('invalid-request', 'delta', 'must be below 1 for one release')
      // Charges run concurrently, so there must be no await between the check and the subtraction.
      if (!coversAmount(left, price)) {
        opened += 1
        left = CAP
        budget = openBudget(opened)
      }
      left = subtractAmounts(left, price)
      return ledger.charge({ ...request, dataset: await budget })
    },
  }
}
