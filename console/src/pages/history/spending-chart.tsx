import { api, at, useMe } from '../../api/api.ts'
import { MOST_ENTRIES, useLedgerEntries } from '../../api/ledger-entries.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Curve } from '../../components/charts/curve.tsx'
import { timeAxis } from '../../components/charts/time-axis.ts'
import { Section } from '../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { formatAmount, sizeOf, smallerOf, unitOf } from '../../format/amount.ts'
import { formatExact } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import { BudgetGauge } from '../datasets/budget-gauge.tsx'
import { amountScale, spendingOf, stepsOf } from './spending.ts'

/** Chart of what was spent of a dataset's budget over time: all of it, or for an analyst their own part. */
export function SpendingSection({ dataset }: { readonly dataset: string }) {
  const me = useMe()
  const entries = useLedgerEntries(dataset)
  const { data: budget } = api.useQuery('get', '/v1/datasets/{dataset}/budget', at({ dataset }))
  const isAnalyst = me?.role === 'analyst'
  return (
    <Section
      title="Budget over time"
      lead={isAnalyst ? 'What you spent of this dataset.' : 'What all analysts spent of this dataset.'}
    >
      {entries.error !== null && <ProblemNotice error={entries.error} onRetry={entries.refetch} />}
      {entries.isPending && <Loading what="the ledger" />}
      {entries.data !== undefined && budget !== undefined && me !== undefined && (
        <SpendingChart
          entries={entries.data}
          payer={isAnalyst ? 'analyst' : 'dataset'}
          cap={budget.allotment === undefined ? budget.cap : smallerOf(budget.cap, budget.allotment.cap)}
        />
      )}
      {entries.data !== undefined && entries.data.length >= MOST_ENTRIES && (
        <Notice>
          The chart shows the newest {formatExact(MOST_ENTRIES)} entries of the ledger, without what was spent
          before.
        </Notice>
      )}
      <BudgetGauge dataset={dataset} />
    </Section>
  )
}

interface SpendingChartProps {
  readonly entries: readonly Schemas['LedgerEntry'][]
  readonly payer: 'analyst' | 'dataset'
  readonly cap: Parameters<typeof amountScale>[1]
}

function SpendingChart({ entries, payer, cap }: SpendingChartProps) {
  const totals = spendingOf(entries, payer)
  const last = totals.at(-1)
  const oldest = entries.at(-1)
  if (last === undefined || oldest === undefined) return <p>Nothing was spent.</p>
  const fromMs = Math.min(Date.parse(oldest.at), totals[0]?.atMs ?? 0)
  const toMs = Math.max(Date.now(), last.atMs)
  const axis = timeAxis(fromMs, toMs)
  const unit = unitOf(cap)
  return (
    <Curve
      label={`${unit} ${formatExact(last.spent)} of ${formatExact(sizeOf(cap))} spent until ${formatTime(new Date(last.atMs).toISOString())} UTC`}
      height={220}
      x={{
        title: `Time (UTC), from ${formatTime(new Date(fromMs).toISOString())}`,
        ...axis,
      }}
      y={{ title: `Spent (${unit})`, scale: amountScale(last.spent, cap), format: formatExact }}
      lines={[{ name: 'Spent', points: stepsOf(totals, { fromMs, toMs }) }]}
      marks={[{ axis: 'y', value: sizeOf(cap), label: `Cap: ${formatAmount(cap)}`, look: 'cost' }]}
    />
  )
}
