import { useState } from 'react'
import { api, at } from '../../api/api.ts'
import { useLedgerEntries } from '../../api/ledger-entries.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Curve } from '../../components/charts/curve.tsx'
import type { CurveLine } from '../../components/charts/scale.ts'
import { timeAxis } from '../../components/charts/time-axis.ts'
import { SelectField } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Table } from '../../components/tables/tables.tsx'
import { formatAmount, sizeOf, unitOf } from '../../format/amount.ts'
import { formatEstimate, formatExact, formatShare } from '../../format/number.ts'
import type { DatasetPart } from '../datasets/dataset.ts'
import { amountScale, spendingOf, stepsOf } from '../history/spending.ts'
import {
  type AnalystTotals,
  DAY_MS,
  describeEnd,
  type Forecast,
  type ForecastTerms,
  forecastOf,
  spentSince,
  totalsByAnalyst,
  WINDOWS,
  type WindowDays,
} from './forecast.ts'
import styles from './manage.module.css'

/** Part of a dataset's page: spending over time, by analyst, and when the budget will be gone. */
export default function SpendingPart({ dataset: { id, registeredAt } }: DatasetPart) {
  const path = at({ dataset: id })
  const entries = useLedgerEntries(id)
  const budget = api.useQuery('get', '/v1/datasets/{dataset}/budget', path)
  const analysts = api.useQuery('get', '/v1/datasets/{dataset}/analysts', path)
  const error = entries.error ?? budget.error ?? analysts.error
  const retry = () => {
    for (const query of [entries, budget, analysts]) if (query.error !== null) void query.refetch()
  }
  if (error !== null) return <ProblemNotice error={error} onRetry={retry} />
  if (entries.data === undefined || budget.data === undefined || analysts.data === undefined)
    return <Loading what="the ledger" />
  return (
    <Spending
      entries={entries.data}
      budget={budget.data}
      analysts={analysts.data.analysts}
      registeredAt={registeredAt}
    />
  )
}

interface SpendingProps {
  readonly entries: readonly Schemas['LedgerEntry'][]
  readonly budget: Schemas['BudgetReport']
  readonly analysts: Schemas['AnalystList']['analysts']
  readonly registeredAt: string
}

function Spending({ entries, budget, analysts, registeredAt }: SpendingProps) {
  const [windowDays, setWindow] = useState<WindowDays>(28)
  const [nowMs] = useState(() => Date.now())
  const openedAtMs = Date.parse(entries.at(-1)?.at ?? registeredAt)
  const totals = spendingOf(entries, 'dataset')
  const isTruncated = sizeOf(budget.spent) - (totals.at(-1)?.spent ?? 0) > 1e-9
  const terms = {
    totals,
    cap: sizeOf(budget.cap),
    spent: sizeOf(budget.spent),
    openedAtMs,
    nowMs,
    windowDays,
  }
  const part = { ...terms, budget, byAnalyst: totalsByAnalyst(entries), forecast: forecastOf(terms) }
  return (
    <>
      <Section title="Spending over time">
        <div className={styles.form}>
          <ForecastNotice {...part} />
          {isTruncated && (
            <Notice>
              The chart shows the newest entries of the ledger only, without what was spent before.
            </Notice>
          )}
          {totals.length > 0 && <SpendingCurve {...part} />}
          <SelectField
            label="Forecast from the spending of"
            hint="A younger budget is averaged over its age."
            className={styles.window}
            value={windowDays}
            options={WINDOWS.map((days) => [days, `the last ${days} days`])}
            onChange={setWindow}
          />
        </div>
      </Section>
      <Section title="By analyst">
        <AnalystTable {...part} analysts={analysts} />
      </Section>
    </>
  )
}

/** Spending of a dataset's budget, in all and by analyst, and its forecast. */
interface SpendingView extends ForecastTerms {
  readonly budget: Schemas['BudgetReport']
  readonly byAnalyst: readonly AnalystTotals[]
  readonly forecast: Forecast
}

function ForecastNotice({ forecast, budget, nowMs }: SpendingView) {
  switch (forecast.kind) {
    case 'spent':
      return (
        <Notice tone="danger" title="The budget is spent">
          A grant raises it.
        </Notice>
      )
    case 'idle':
      return <Notice title="Nothing was spent in this time">{formatAmount(budget.remaining)} is left.</Notice>
    case 'young':
      return (
        <Notice title="There is no forecast yet">
          {formatAmount(budget.remaining)} is left. A forecast needs a day of spending, and the budget is
          younger.
        </Notice>
      )
    case 'ends':
      return (
        <Notice
          tone={forecast.endsAtMs - nowMs < 30 * DAY_MS ? 'cost' : 'plain'}
          title={`The budget is gone ${describeEnd(forecast.endsAtMs, nowMs)}`}
        >
          {formatAmount(budget.remaining)} is left, and {unitOf(budget.cap)} {formatEstimate(forecast.perDay)}{' '}
          is spent per day.
        </Notice>
      )
  }
}

function SpendingCurve({ budget, forecast, totals, byAnalyst, cap, openedAtMs, nowMs }: SpendingView) {
  const spent = totals.at(-1)?.spent ?? 0
  const isDrawn = forecast.kind === 'ends'
  // The forecast is drawn for as long again as the budget is old.
  const untilMs = isDrawn ? Math.min(forecast.endsAtMs, 2 * nowMs - openedAtMs) : nowMs
  const range = { fromMs: openedAtMs, toMs: nowMs }
  const most = byAnalyst.slice(0, 2)
  const looks = ['third', 'fourth'] as const
  const end = isDrawn ? spent + (forecast.perDay * (untilMs - nowMs)) / DAY_MS : spent
  const lines: CurveLine[] = [
    { name: 'All analysts', points: stepsOf(totals, range) },
    ...(isDrawn
      ? [
          {
            name: 'Forecast',
            dashed: true,
            points: [
              { x: nowMs, y: spent },
              { x: untilMs, y: end },
            ],
          },
        ]
      : []),
    ...(most.length < 2
      ? []
      : most.map(({ analyst, totals: own }, index) => ({
          name: analyst,
          look: looks[index] ?? ('muted' as const),
          points: stepsOf(own, range),
        }))),
  ]
  const unit = unitOf(budget.cap)
  return (
    <Curve
      label={`${unit} ${formatExact(spent)} of ${formatExact(cap)} spent`}
      height={260}
      x={{ title: 'Time (UTC)', ...timeAxis(openedAtMs, untilMs) }}
      y={{ title: `Spent (${unit})`, scale: amountScale(end, budget.cap), format: formatExact }}
      lines={lines}
      marks={[{ axis: 'y', value: cap, label: `Cap: ${formatAmount(budget.cap)}`, look: 'cost' }]}
    />
  )
}

interface AnalystTableProps extends SpendingView {
  readonly analysts: Schemas['AnalystList']['analysts']
}

function AnalystTable({ analysts, byAnalyst, cap, openedAtMs, nowMs, windowDays }: AnalystTableProps) {
  const ownTotals = (analyst: string) => byAnalyst.find((each) => each.analyst === analyst)?.totals ?? []
  const endOf = ({ analyst, spent, allotment }: Schemas['AnalystList']['analysts'][number]) => {
    if (allotment === undefined) return ''
    const forecast = forecastOf({
      totals: ownTotals(analyst),
      cap: sizeOf(allotment.cap),
      spent: sizeOf(spent),
      openedAtMs,
      nowMs,
      windowDays,
    })
    if (forecast.kind === 'spent') return 'spent'
    return forecast.kind === 'ends' ? describeEnd(forecast.endsAtMs, nowMs) : ''
  }
  return (
    <Table
      cards
      label="Spending by analyst"
      rows={analysts.toSorted((one, other) => sizeOf(other.spent) - sizeOf(one.spent))}
      keyOf={({ analyst }) => analyst}
      empty="No analyst has spent anything or has an allotment."
      columns={[
        ['Analyst', ({ analyst }) => <strong>{analyst}</strong>],
        ['Spent', ({ spent }) => formatAmount(spent), 'right'],
        ['Of the cap', ({ spent }) => (cap === 0 ? '' : formatShare(sizeOf(spent) / cap)), 'right'],
        [
          `Last ${windowDays} days`,
          ({ analyst }) => formatExact(spentSince(ownTotals(analyst), nowMs - windowDays * DAY_MS)),
          'right',
        ],
        [
          'Last question',
          ({ analyst }) => {
            const last = ownTotals(analyst).at(-1)
            return last === undefined ? '' : <DateTime value={new Date(last.atMs).toISOString()} />
          },
        ],
        ['Allotment', ({ allotment }) => (allotment === undefined ? 'none' : formatAmount(allotment.cap))],
        ['Allotment gone', endOf],
      ]}
    />
  )
}
