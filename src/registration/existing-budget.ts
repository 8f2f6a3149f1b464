import type { Catalog } from '../catalog/catalog.ts'
import type { DatasetDeclaration } from '../catalog/declaration.ts'
import { openedFor, type PersonUnit } from '../ledger/event.ts'
import type { Budget, Ledger } from '../ledger/ledger.ts'
import { type Accounting, amountNumbers } from '../privacy/accounting.ts'
import { lossNumbers, type PrivacyLoss } from '../privacy/loss.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import { Refusal } from '../privacy/refusal.ts'
import type { CheckedRegistration } from './registration.ts'

/**
 * Requires that a registration continues the budget that its id has, if it has one.
 * @returns the budget, if there is one
 * @throws Refusal `budget-account-exists` for the first declaration that differs.
 */
export async function requireExistingBudget(
  { catalog, ledger }: { readonly catalog: Catalog; readonly ledger: Ledger },
  { declaration, granted }: CheckedRegistration,
): Promise<Budget | undefined> {
  const { id, accounting } = declaration
  const opened = await ledger.budget(id)
  if (opened === undefined) return undefined
  requireSameBudget(opened, accounting, granted, id)
  const before = await openedFor(ledger, id)
  // The first releases did not record the neighbours in the event; in that case the last withdrawal recorded them.
  const last = catalog.lastDeclared(id)
  requireSameNeighbours(before.neighbours ?? last.neighbours, declaration)
  requireSameUnit(before.privacyUnit, declaration)
  // They did not record either whether the data are synthetic. Without a record, the data were real.
  requireSameKindOfData(before.synthetic ?? last.synthetic ?? false, declaration)
  return opened
}

/**
 * Requires the budget that the id has: a new registration neither resets the spending nor raises the cap.
 * @throws Refusal `budget-account-exists`
 */
export function requireSameBudget(
  { granted, cap, spent }: Budget,
  accounting: Accounting,
  asked: PrivacyLoss,
  id: string,
): void {
  const sameAccounting = cap.accounting === accounting
  if (sameAccounting && granted.epsilonNano === asked.epsilonNano && granted.deltaAtto === asked.deltaAtto)
    return
  throw new Refusal(
    'budget-account-exists',
    `${id} has a budget from an earlier registration. Register with the same cap and accounting, then raise the cap ` +
      'with a grant.',
    [
      sameAccounting
        ? { field: 'budget', rule: 'must be the cap of the existing budget' }
        : { field: 'accounting', rule: `must be ${cap.accounting}, the accounting of the existing budget` },
    ],
    { cap: lossNumbers(granted), spent: amountNumbers(spent) },
  )
}

/**
 * Requires the neighbours for which the id's budget was opened. Charges were priced for these: for a replaced row, a
 * charge for an added or removed row counts up to twice.
 * @param before absent if an earlier release opened the budget and withdrew the dataset
 * @throws Refusal `budget-account-exists`
 */
function requireSameNeighbours(
  before: Neighbours | undefined,
  { id, neighbours }: Pick<DatasetDeclaration, 'id' | 'neighbours'>,
): void {
  if (before === undefined || before === neighbours) return
  throw new Refusal(
    'budget-account-exists',
    `The existing budget of ${id} was spent under ${before} neighbours. Register with these neighbours, or under another ` +
      'id.',
    [{ field: 'neighbours', rule: `must be ${before}, the neighbours of the existing budget` }],
  )
}

/**
 * Requires the privacy unit for which the id's budget was opened. Charges for rows protect a row, and those for people
 * the rows with the same value in one column. The number of rows of a person may change.
 * @param before absent if each row is a privacy unit
 * @throws Refusal `budget-account-exists`
 */
function requireSameUnit(
  before: PersonUnit | undefined,
  { id, privacyUnit }: Pick<DatasetDeclaration, 'id' | 'privacyUnit'>,
): void {
  if ((privacyUnit.kind === 'person' ? privacyUnit.column : undefined) === before?.column) return
  const unit = before === undefined ? 'a row' : `a person with the column ${before.column}`
  throw new Refusal(
    'budget-account-exists',
    `The privacy unit of the existing budget of ${id} is ${unit}. Register with the same unit, or under another id.`,
    [{ field: 'privacyUnit', rule: `must be ${unit}, the privacy unit of the existing budget` }],
  )
}

/**
 * Requires synthetic data for a budget that was opened for synthetic data, and real data for any other. Evaluations and
 * audits show the truth of synthetic data, so real data must never be declared synthetic later; and the ledger states for
 * which kind of data a budget was spent.
 * @throws Refusal `budget-account-exists`
 */
function requireSameKindOfData(
  before: boolean,
  { id, synthetic }: Pick<DatasetDeclaration, 'id' | 'synthetic'>,
): void {
  if (before === synthetic) return
  const kind = before ? 'synthetic' : 'real'
  throw new Refusal(
    'budget-account-exists',
    `The existing budget of ${id} was opened for ${kind} data. Register ${kind} data, or use another id.`,
    [{ field: 'synthetic', rule: `must be ${before}, as when the budget was opened` }],
  )
}
