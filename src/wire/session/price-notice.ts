import { describePrice } from '../../answers/documents/costs.ts'
import type { Dataset } from '../../core/dataset/dataset.ts'
import { requireBalances } from '../../http/access/permitted-datasets.ts'
import type { Principal } from '../../http/access/principal.ts'
import { noAmount } from '../../privacy/accounting.ts'
import { must } from '../../privacy/must.ts'
import type { WireParts } from '../parts.ts'
import type { Report } from '../protocol/backend.ts'

type Amounts = Readonly<Record<string, number>>

/** A notice with what an answer cost and the least that is left, of the dataset and its population. */
export async function priceNotice(
  { ledger }: WireParts,
  principal: Principal,
  { id, accounting }: Dataset,
  { body, replayed }: { readonly body: string; readonly replayed: boolean },
): Promise<Report> {
  // A replay states what was left when it was paid for.
  const shown = replayed
    ? describePrice(noAmount(accounting), await requireBalances(ledger, principal, id))
    : JSON.parse(body)
  const { cost, population, ...ofDataset }: Shown = shown
  const paid = replayed ? 'replayed at no cost' : `cost ${amountText(cost)}`
  const onPopulation = population === undefined ? [] : limitsOf(population, population.id)
  const least = [...limitsOf(ofDataset), ...onPopulation].reduce((one, other) =>
    isLess(other.remaining, one.remaining) ? other : one,
  )
  const message = `${paid}; ${amountText(least.remaining)} of ${least.name} left`
  return { severity: 'NOTICE', code: '00000', message }
}

interface Limits {
  readonly budget: { readonly remaining: Amounts }
  readonly allotment?: { readonly remaining: Amounts }
}

interface Shown extends Limits {
  readonly cost: Amounts
  readonly population?: Limits & { readonly id: string }
}

/** What is left of an allotment and a budget, with their names. */
function limitsOf({ budget, allotment }: Limits, population?: string) {
  const [on, of] =
    population === undefined ? ['', ''] : ['on', 'of'].map((at) => ` ${at} the population ${population}`)
  const own = allotment === undefined ? [] : [{ ...allotment, name: `your allotment${on}` }]
  return [...own, { ...budget, name: `the budget${of}` }]
}

/** Compares amounts in the same units by the first that differs. */
function isLess(one: Amounts, other: Amounts): boolean {
  const differing = Object.keys(one).find((unit) => one[unit] !== other[unit])
  return differing !== undefined && must(one[differing], 'an amount') < must(other[differing], 'an amount')
}

function amountText(amounts: Amounts): string {
  const stated = Object.entries(amounts).filter(([unit, amount]) => amount > 0 || unit !== 'delta')
  return stated.map(([unit, amount]) => `${unit} ${amount}`).join(' and ')
}
