import { type Column, type Dataset, isLiveSource } from '../../../core/dataset/dataset.ts'
import {
  type DatasetDeclaration,
  declareDataset,
  defaultDeclarations,
  requireUnreservedNames,
  withSelectableLimits,
} from '../../../core/dataset/declaration.ts'
import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import { type JoinTree, joinTree, withConstants } from '../../../core/dataset/joins.ts'
import { type Accounting, amountBoughtBy, coversAmount, noAmount } from '../../../privacy/accounting.ts'
import { defined } from '../../../privacy/defined.ts'
import {
  deltaFromWire,
  epsilonFromWire,
  epsilonNano,
  epsilonNumber,
  MAX_BUDGET_EPSILON,
  MAX_QUERY_EPSILON,
  type PrivacyLoss,
} from '../../../privacy/loss.ts'
import { refuseField } from '../../../privacy/refusal.ts'
import { fixedDeclarations } from '../sources/sources.ts'

/**
 * A registration as a custodian sends it. Declarations that its kind of source determines or that have a default are
 * optional.
 */
export type RegistrationRequest = Omit<DatasetDeclaration, OptionalDeclarations> & {
  readonly [Name in OptionalDeclarations]?: DatasetDeclaration[Name] | undefined
} & {
  /** Reason for a second budget over a source that is registered under another id. */
  readonly separateBudget?: string | undefined
  readonly budget: CatalogEntry['budget']
}

type OptionalDeclarations = 'columns' | 'synthetic' | 'timing' | 'failureLimit' | 'queryLimits' | 'leftOut'

/** A registration whose declaration and budget are valid in themselves. */
export interface CheckedRegistration {
  readonly declaration: DatasetDeclaration
  readonly separateBudget?: string | undefined
  readonly budget: CatalogEntry['budget']
  readonly granted: PrivacyLoss
  readonly columns: readonly Column[]
  /** Joins of a source of several tables. */
  readonly joins: JoinTree | undefined
}

/**
 * Checks everything that needs neither the source nor the id's earlier registrations.
 * @throws Refusal for the first broken rule.
 */
export function checkRegistration(request: RegistrationRequest): CheckedRegistration {
  const { budget, separateBudget } = request
  const declaration = completeDeclaration(request)
  const granted = grantedBy(budget, declaration.accounting, 'budget.')
  const dataset = declareDataset(declaration, '')
  requireAffordable(dataset, granted)
  requireUnreservedNames(declaration)
  // They were checked with the columns.
  const joins = joinTree(declaration, () => undefined)
  return { declaration, separateBudget, budget, granted, columns: dataset.columns, joins }
}

/** @throws Refusal `invalid-request` if the budget does not pay for one measurement of what is left out. */
function requireAffordable({ leftOutNano }: Pick<Dataset, 'leftOutNano'>, granted: PrivacyLoss): void {
  if (leftOutNano === undefined || leftOutNano <= granted.epsilonNano) return
  throw refuseField('invalid-request', 'leftOut.epsilon', 'must be at most the epsilon of the budget')
}

/**
 * Converts a budget to the loss that it grants.
 * @param prefix of the fields of the budget in the request
 * @throws Refusal `invalid-request` for a budget that is out of range, or whose amount is 0 under its accounting.
 */
export function grantedBy(
  { epsilon, delta }: CatalogEntry['budget'],
  accounting: Accounting,
  prefix: string,
): PrivacyLoss {
  const granted = {
    epsilonNano: epsilonFromWire(epsilon, `${prefix}epsilon`, MAX_BUDGET_EPSILON),
    deltaAtto: deltaFromWire(delta, `${prefix}delta`),
  }
  if (coversAmount(noAmount(accounting), amountBoughtBy(accounting, granted)))
    throw refuseField('invalid-request', `${prefix}delta`, 'must be greater than 0 under zcdp accounting')
  return granted
}

/**
 * Fills in the declarations that the kind of source determines or that have a default.
 * @throws Refusal `invalid-request` for a contradiction, or a declaration that is missing.
 */
function completeDeclaration({
  budget,
  separateBudget: _,
  ...request
}: RegistrationRequest): DatasetDeclaration {
  const { kind } = request.source
  const fixed = fixedDeclarations(request.source)
  if (fixed.synthetic && request.synthetic === false)
    throw refuseField('invalid-request', 'synthetic', `must be true for a source of kind ${kind}`)
  const columns = request.columns ?? fixed.columns
  if (columns === undefined)
    throw refuseField('invalid-request', 'columns', `must be declared for a source of kind ${kind}`)
  if (isLiveSource(request.source) && request.neighbours !== 'add-remove')
    throw refuseField('invalid-request', 'neighbours', 'must be add-remove for a live table')
  const synthetic = request.synthetic ?? fixed.synthetic ?? false
  const { timing, failureLimit, queryLimits } = defaultDeclarations({ synthetic })
  return {
    ...request,
    columns: withConstants({ ...request, columns: withSelectableLimits(columns) }),
    synthetic,
    timing: request.timing ?? timing,
    failureLimit: request.failureLimit ?? failureLimit,
    queryLimits: { ...queryLimits, ...request.queryLimits },
    ...(request.privacyUnit.kind === 'person' ? { leftOut: leftOutOf(budget) } : {}),
    ...defined({ leftOut: request.leftOut }),
  }
}

/**
 * The price of measuring what `maxRows` leaves out, unless it is declared: a hundredth of the budget's epsilon, or the most
 * that a query may cost.
 */
function leftOutOf({ epsilon }: CatalogEntry['budget']): DatasetDeclaration['leftOut'] {
  const hundredth = epsilonFromWire(epsilon, 'budget.epsilon', MAX_BUDGET_EPSILON) / 100n
  return { epsilon: Math.min(epsilonNumber(epsilonNano(hundredth)), MAX_QUERY_EPSILON) }
}
