import { api, at } from '../../api/api.ts'
import { sizeOf } from '../../format/amount.ts'
import { BudgetGauge } from '../datasets/budget-gauge.tsx'
import type { DatasetPart } from '../datasets/dataset.ts'
import { AccountSection } from './account-section.tsx'

/** Budget of a dataset, and what each analyst may spend of it. */
export function BudgetSection({ dataset: { id } }: DatasetPart) {
  const path = at({ dataset: id })
  const { data: budget } = api.useQuery('get', '/v1/datasets/{dataset}/budget', path)
  const analysts = api.useQuery('get', '/v1/datasets/{dataset}/analysts', path)
  return (
    <AccountSection
      title="Budget and allotments"
      account={{ kind: 'dataset', id }}
      read={analysts}
      isReplaceable={budget !== undefined && sizeOf(budget.spent) === 0}
    >
      <BudgetGauge dataset={id} />
    </AccountSection>
  )
}
