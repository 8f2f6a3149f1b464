import type { Amount } from 'sotto-client'
import { adviceOn } from '../../api/advice.ts'
import { api, at, useMe } from '../../api/api.ts'
import { Gauge } from '../../components/charts/gauge.tsx'
import { Button } from '../../components/forms/button.tsx'
import { formatAmount, formatSpent, leftOf } from '../../format/amount.ts'
import styles from './datasets.module.css'

export interface BudgetGaugeProps {
  readonly dataset: string
  /** Amount that a question would cost, drawn after what is spent. */
  readonly proposed?: Amount | undefined
}

/** Budget of a dataset, and what the caller may still spend of it. */
export function BudgetGauge({ dataset, proposed }: BudgetGaugeProps) {
  const me = useMe()
  const {
    data: budget,
    error,
    refetch,
  } = api.useQuery('get', '/v1/datasets/{dataset}/budget', at({ dataset }))
  if (budget === undefined)
    return (
      <div className={styles.budget}>
        {error !== null && (
          <div className={styles.balance} role="alert">
            <span>The budget could not be read: {adviceOn(error).title.toLowerCase()}.</span>
            <Button look="quiet" onClick={() => refetch()}>
              Read it again
            </Button>
          </div>
        )}
      </div>
    )
  const { cap, spent, population } = budget
  const yours = leftOf(budget, population)
  return (
    <div className={styles.budget}>
      <Gauge label="Budget of the dataset" cap={cap} spent={spent} proposed={proposed} />
      <div className={styles.balance}>
        <span>{formatSpent(spent, cap)}</span>
        <strong>
          {formatAmount(yours)} {me?.role === 'analyst' ? 'left for you' : 'left'}
        </strong>
      </div>
      {population !== undefined && (
        <>
          <Gauge
            label={`Budget of the population ${population.id}`}
            cap={population.budget.cap}
            spent={population.budget.spent}
            proposed={proposed}
          />
          <div className={styles.balance}>
            <span>
              {formatSpent(population.budget.spent, population.budget.cap)} by all datasets of {population.id}
            </span>
          </div>
        </>
      )}
    </div>
  )
}
