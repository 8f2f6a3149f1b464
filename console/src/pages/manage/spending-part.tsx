import { useState } from 'react'
import type { components } from 'sotto-client'
import { api } from '../../api/api.ts'
import { useLedgerEntries } from '../../api/ledger-entries.ts'
import { Curve, type CurveLine } from '../../components/curve.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Field } from '../../components/field.tsx'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatAmount, sizeOf, unitOf } from '../../format/amount.ts'
import { formatEstimate, formatExact, formatShare } from '../../format/number.ts'
import type { DatasetPart } from '../datasets/dataset-page.tsx'
import { amountScale, spendingOf, stepsOf, timeAxis } from '../history/spending.ts'
import {
  type AnalystTotals,
  DAY_MS,
  describeEnd,
  type Forecast,
  forecastOf,
  spentSince,
  totalsByAnalyst,
  WINDOWS,
  type WindowDays,
} from './forecast.ts'
import styles from './manage.module.css'

type Entry = components['schemas']['LedgerEntry']
type Budget = components['schemas']['BudgetReport']
type Analysts = components['schemas']['AnalystList']['analysts']

/** Part of a dataset's page: spending over time, by analyst, and when the budget will be gone. */
export default function SpendingPart({ dataset: { id, registeredAt } }: DatasetPart) {
  const path = { params: { path: { dataset: id } } }
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
  readonly entries: readonly Entry[]
  readonly budget: Budget
  readonly analysts: Analysts
  readonly registeredAt: string
}

function Spending({ entries, budget, analysts, registeredAt }: SpendingProps) {
  const isTruncated = sizeOf(budget.spent) - (spendingOf(entries, 'dataset').at(-1)?.spent ?? 0) > 1e-9
  const [windowDays, setWindow] = useState<WindowDays>(28)
  const [nowMs] = useState(() => Date.now())
  const openedAtMs = Date.parse(entries.at(-1)?.at ?? registeredAt)
  const totals = spendingOf(entries, 'dataset')
  const window = { openedAtMs, nowMs, windowDays }
  const forecast = forecastOf({ totals, cap: sizeOf(budget.cap), spent: sizeOf(budget.spent), ...window })
  return (
    <>
      <Section title="Spending over time">
        <div className={styles.form}>
          <ForecastNotice forecast={forecast} budget={budget} openedAtMs={openedAtMs} nowMs={nowMs} />
          {isTruncated && (
            <Notice>
              The chart shows the newest entries of the ledger only, without what was spent before.
            </Notice>
          )}
          {totals.length > 0 && (
            <SpendingCurve budget={budget} forecast={forecast} entries={entries} {...window} />
          )}
          <Field label="Forecast from the spending of" hint="A younger budget is averaged over its age.">
            {(attributes) => (
              <select
                {...attributes}
                className={styles.window}
                value={windowDays}
                onChange={(event) =>
                  setWindow(WINDOWS.find((days) => days === Number(event.target.value)) ?? 28)
                }
              >
                {WINDOWS.map((days) => (
                  <option key={days} value={days}>
                    the last {days} days
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
      </Section>
      <Section title="By analyst">
        <AnalystTable budget={budget} analysts={analysts} totals={totalsByAnalyst(entries)} {...window} />
      </Section>
    </>
  )
}

interface Window {
  readonly openedAtMs: number
  readonly nowMs: number
  readonly windowDays: number
}

function ForecastNotice({
  forecast,
  budget,
  openedAtMs,
  nowMs,
}: Omit<Window, 'windowDays'> & { readonly forecast: Forecast; readonly budget: Budget }) {
  const isYoung = nowMs - openedAtMs < DAY_MS
  switch (forecast.kind) {
    case 'spent':
      return (
        <Notice tone="danger" title="The budget is spent">
          A grant raises it.
        </Notice>
      )
    case 'idle':
      return <Notice title="Nothing was spent in this time">{formatAmount(budget.remaining)} is left.</Notice>
    case 'ends':
      return (
        <Notice
          tone={!isYoung && forecast.endsAtMs - nowMs < 30 * DAY_MS ? 'cost' : 'plain'}
          title={`The budget is gone ${describeEnd(forecast.endsAtMs, nowMs)}`}
        >
          {formatAmount(budget.remaining)} is left, and {unitOf(budget.cap)} {formatEstimate(forecast.perDay)}{' '}
          is spent per day.
          {isYoung && ' The budget is less than a day old: the forecast is rough.'}
        </Notice>
      )
  }
}

function SpendingCurve({
  budget,
  forecast,
  entries,
  openedAtMs,
  nowMs,
}: Window & { readonly budget: Budget; readonly forecast: Forecast; readonly entries: readonly Entry[] }) {
  const totals = spendingOf(entries, 'dataset')
  const spent = totals.at(-1)?.spent ?? 0
  // The forecast is drawn for as long again as the budget is old, and not on its first day.
  const age = nowMs - openedAtMs
  const isDrawn = forecast.kind === 'ends' && age >= DAY_MS
  const untilMs = isDrawn ? Math.min(forecast.endsAtMs, nowMs + age) : nowMs
  const axis = timeAxis(openedAtMs, untilMs)
  const range = { fromMs: openedAtMs, toMs: nowMs, unitMs: axis.unitMs }
  const most = totalsByAnalyst(entries).slice(0, 2)
  const looks = ['cost', 'muted'] as const
  const end = isDrawn ? spent + (forecast.perDay * (untilMs - nowMs)) / DAY_MS : spent
  const lines: CurveLine[] = [
    { name: 'All analysts', points: stepsOf(totals, range) },
    ...(isDrawn
      ? [
          {
            name: 'Forecast',
            dashed: true,
            points: [
              { x: nowMs / axis.unitMs, y: spent },
              { x: untilMs / axis.unitMs, y: end },
            ],
          },
        ]
      : []),
    ...(most.length < 2
      ? []
      : most.map(({ analyst, totals: own }, index) => ({
          name: analyst,
          look: looks[index] ?? 'muted',
          points: stepsOf(own, range),
        }))),
  ]
  const unit = unitOf(budget.cap)
  return (
    <Curve
      label={`${unit} ${formatExact(spent)} of ${formatExact(sizeOf(budget.cap))} spent`}
      height={260}
      x={{ title: 'Time (UTC)', scale: axis.scale, format: axis.format }}
      y={{ title: `Spent (${unit})`, scale: amountScale(end, budget.cap), format: formatExact }}
      lines={lines}
      marks={[
        { axis: 'y', value: sizeOf(budget.cap), label: `Cap: ${formatAmount(budget.cap)}`, look: 'cost' },
      ]}
    />
  )
}

interface AnalystTableProps extends Window {
  readonly budget: Budget
  readonly analysts: Analysts
  readonly totals: readonly AnalystTotals[]
}

function AnalystTable({ budget, analysts, totals, openedAtMs, nowMs, windowDays }: AnalystTableProps) {
  const ownTotals = (analyst: string) => totals.find((each) => each.analyst === analyst)?.totals ?? []
  const endOf = ({ analyst, spent, allotment }: Analysts[number]) => {
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
    return forecast.kind === 'idle' ? '' : describeEnd(forecast.endsAtMs, nowMs)
  }
  const whole = sizeOf(budget.cap)
  return (
    <Table
      label="Spending by analyst"
      rows={analysts.toSorted((one, other) => sizeOf(other.spent) - sizeOf(one.spent))}
      keyOf={({ analyst }) => analyst}
      empty="No analyst has spent anything or has an allotment."
      columns={[
        { title: 'Analyst', cell: ({ analyst }) => <strong>{analyst}</strong> },
        { title: 'Spent', align: 'right', cell: ({ spent }) => formatAmount(spent) },
        {
          title: 'Of the cap',
          align: 'right',
          cell: ({ spent }) => (whole === 0 ? '' : formatShare(sizeOf(spent) / whole)),
        },
        {
          title: `Last ${windowDays} days`,
          align: 'right',
          cell: ({ analyst }) => formatExact(spentSince(ownTotals(analyst), nowMs - windowDays * DAY_MS)),
        },
        {
          title: 'Last question',
          cell: ({ analyst }) => {
            const last = ownTotals(analyst).at(-1)
            return last === undefined ? '' : <DateTime value={new Date(last.atMs).toISOString()} />
          },
        },
        {
          title: 'Allotment',
          cell: ({ allotment }) => (allotment === undefined ? 'none' : formatAmount(allotment.cap)),
        },
        { title: 'Allotment gone', cell: endOf },
      ]}
    />
  )
}
