import { expect } from 'vitest'
import type { NewAllotment } from '../../../src/ledger/contract/budgets.ts'
import type { ChargeRequest } from '../../../src/ledger/contract/charges.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import type { Accounting, Amount } from '../../../src/privacy/accounting.ts'
import { epsilonNano, NO_LOSS, rhoPico } from '../../../src/privacy/loss.ts'
import type { Fixture } from '../fixture.ts'
import { basic, chargeOf, historyOf, loss, question, rho } from '../support.ts'

/** One requirement that every ledger must meet. */
export interface ContractTest {
  readonly name: string
  /** Rejects if the ledger of a new fixture does not meet the requirement. */
  run(fixture: Fixture): Promise<void>
}

export const contractTest = (name: string, run: ContractTest['run']): ContractTest => ({ name, run })

/** Both accountings, with amounts whose tenfold is the cap. */
export const COUNTED: readonly { accounting: Accounting; parts(count: bigint): Amount }[] = [
  { accounting: 'basic', parts: (count) => basicParts(count) },
  {
    accounting: 'zcdp',
    parts: (count) => ({ accounting: 'zcdp', rhoPico: rhoPico(2_435_597_035n * count) }),
  },
]

function basicParts(count: bigint): Amount {
  return { accounting: 'basic', ...NO_LOSS, epsilonNano: epsilonNano(loss('0.1').epsilonNano * count) }
}

/** The smallest amount above 0. */
export function leastOf(accounting: Accounting): Amount {
  return accounting === 'zcdp' ? rho('0.000000000001') : basic('0.000000001')
}

/** Opens the budget of `census`, which is (1, 1e-6). */
export async function withCensus({ ledger }: Fixture, accounting: Accounting = 'basic'): Promise<Ledger> {
  await ledger.openBudget(
    'census',
    { accounting, neighbours: 'add-remove', granted: loss('1', '0.000001') },
    'carol',
  )
  return ledger
}

/** An allotment on `census`; without `granted`, its removal. */
export const allotment = (analyst: string, granted?: NewAllotment['granted']): NewAllotment => ({
  dataset: 'census',
  analyst,
  principal: 'carol',
  reason: 'a share',
  ...(granted !== undefined && { granted }),
})
/** The kinds of a dataset's events, oldest first. */
export const kindsOf = async (ledger: Ledger, dataset = 'census') =>
  (await historyOf(ledger, dataset)).map(({ kind }) => kind)
export const spentOf = async (ledger: Ledger, dataset = 'census') => (await ledger.budget(dataset))?.spent
/** Expects an event to have this kind and hash in the history of `census`. */
export const expectReceipt = async (
  ledger: Ledger,
  event: { sequence: number; hash: string },
  kind: string,
) => {
  const found = (await historyOf(ledger)).find(({ sequence }) => sequence === event.sequence)
  expect(found).toMatchObject({ kind, hash: event.hash })
}

/** A request of `principal` for a release that analysts share. */
export const shared = (principal: string, changes: Partial<ChargeRequest> = {}): ChargeRequest =>
  question('the question', { principal, sharing: true, ...changes })

/** Charges `ada` for {@link shared} and records the answer `hers`. */
export async function answeredForAda(
  fixture: Fixture,
  accounting: Accounting = 'basic',
  price = basic('0.1'),
) {
  const ledger = await withCensus(fixture, accounting)
  const { id } = chargeOf(await ledger.charge(shared('ada', { price })))
  await ledger.recordAnswer(id, 1, 'hers')
  return { ledger, id }
}
