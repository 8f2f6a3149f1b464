import { type Budget, type Budgets, populationId } from '../../../ledger/contract/budgets.ts'
import type { Chain } from '../../../ledger/contract/chain.ts'
import { openedFor } from '../../../ledger/event.ts'
import { type Accounting, amountNumbers } from '../../../privacy/accounting.ts'
import { lossNumbers, type PrivacyLoss } from '../../../privacy/loss.ts'
import { must } from '../../../privacy/must.ts'
import { Refusal } from '../../../privacy/refusal.ts'
import type { CheckedRegistration } from './registration.ts'

/**
 * Requires that a registration continues the budget that its id has, if it has one.
 * @returns the budget, if there is one
 * @throws Refusal `budget-account-exists` for the first declaration that differs.
 */
export async function requireExistingBudget(
  ledger: Budgets & Chain,
  { declaration, granted }: CheckedRegistration,
): Promise<Budget | undefined> {
  const { id, accounting } = declaration
  const opened = await ledger.budget(id)
  if (opened === undefined) return undefined
  requireSameBudget(opened, accounting, granted, id)
  const before = await openedFor(ledger, id)
  const refuse = (field: string, rule: string, detail: string): Refusal =>
    new Refusal('budget-account-exists', detail, [{ field, rule }])
  // Charges were priced for these neighbours: for a replaced row, a charge for an added or removed row counts up to twice.
  const neighbours = must(before.neighbours, 'the neighbours of a budget')
  if (declaration.neighbours !== neighbours)
    throw refuse(
      'neighbours',
      `must be ${neighbours}, the neighbours of the existing budget`,
      `The existing budget of ${id} was spent under ${neighbours} neighbours. Register with these neighbours, or under ` +
        'another id.',
    )
  // Charges for rows protect a row, and those for people the rows with the same value in one column. The number of rows of a
  // person may change.
  const column = before.privacyUnit?.column
  const { privacyUnit } = declaration
  const unit = column === undefined ? 'a row' : `a person with the column ${column}`
  if ((privacyUnit.kind === 'person' ? privacyUnit.column : undefined) !== column)
    throw refuse(
      'privacyUnit',
      `must be ${unit}, the privacy unit of the existing budget`,
      `The privacy unit of the existing budget of ${id} is ${unit}. Register with the same unit, or under another id.`,
    )
  const of = opened.population
  if (of !== undefined && (declaration.population ?? '') !== populationId(of))
    throw refuse(
      'population',
      `must be ${populationId(of)}, the population of the existing budget`,
      `${id} belongs to the population ${populationId(of)} for ever. Register it with this population, or use another id.`,
    )
  // Evaluations and audits show the truth of synthetic data, so real data must never be declared synthetic later; and the
  // ledger states for which kind of data a budget was spent.
  const synthetic = must(before.synthetic, 'the kind of data of a budget')
  const kind = synthetic ? 'synthetic' : 'real'
  if (declaration.synthetic !== synthetic)
    throw refuse(
      'synthetic',
      `must be ${synthetic}, as when the budget was opened`,
      `The existing budget of ${id} was opened for ${kind} data. Register ${kind} data, or use another id.`,
    )
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
