import { api, at, requests } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Button } from '../../components/forms/button.tsx'
import { Notice } from '../../components/notices/notices.tsx'
import { Facts, Table } from '../../components/tables/tables.tsx'
import { formatExact, formatShare } from '../../format/number.ts'
import { misfitRows } from './misfits.ts'
import styles from './register.module.css'

export type IngestionCounts = Schemas['IngestionCounts']

const PHASES: Readonly<Record<Schemas['Ingestion']['phase'], string>> = {
  wait: 'Other ingestions run first',
  copy: 'Copying the source',
  check: 'Checking its form',
  read: 'Converting values',
  store: 'Storing rows',
}

/** Time between two looks at the progress. */
const LOOK_MS = 400
/** The same for ingestions of others. */
const LOOK_RARELY_MS = 5_000

/** Progress of the ingestion of a dataset, and a button that stops it. */
export function IngestionProgress({ dataset }: { readonly dataset: string }) {
  const { data } = api.useQuery('get', '/v1/ingestions', {}, { refetchInterval: LOOK_MS, staleTime: 0 })
  const found = data?.ingestions.find((ingestion) => ingestion.dataset === dataset)
  const phase = found === undefined ? 'Sending the declaration' : PHASES[found.phase]
  const stop = () =>
    found === undefined
      ? undefined
      : requests
          .DELETE('/v1/ingestions/{ingestion}', at({ ingestion: found.id }))
          // It has ended meanwhile, which the page shows, or it can be stopped once more.
          .catch(() => undefined)
  return (
    <div className={styles.progress} role="status">
      <span>
        {phase}
        {found?.fraction === undefined ? ' …' : `: ${formatShare(found.fraction)}`}
      </span>
      <progress
        aria-label={phase}
        max={1}
        {...(found?.fraction === undefined ? {} : { value: found.fraction })}
      />
      {found !== undefined && <Button onClick={stop}>Stop</Button>}
    </div>
  )
}

/** Ingestions that run already, such as those of colleagues. */
export function RunningIngestions() {
  const { data } = api.useQuery('get', '/v1/ingestions', {}, { refetchInterval: LOOK_RARELY_MS })
  const datasets = [...new Set(data?.ingestions.map(({ dataset }) => dataset))]
  return datasets.map((dataset) => (
    <Notice key={dataset} title={`The rows of ${dataset} are being read`}>
      <IngestionProgress dataset={dataset} />
    </Notice>
  ))
}

interface PublishButtonsProps {
  /** Text of the button that publishes. */
  readonly action: string
  /** True while a dry run is under way, false while the rows are published. */
  readonly running: boolean | undefined
  readonly isReady: boolean
  readonly onSend: (dryRun: boolean) => void
}

/** Buttons that try an ingestion, and publish its rows. */
export function PublishButtons({ action, running, isReady, onSend }: PublishButtonsProps) {
  const disabled = !isReady || running !== undefined
  return (
    <>
      <Button busy={running === true} disabled={disabled} onClick={() => onSend(true)}>
        Dry run
      </Button>
      <Button look="primary" busy={running === false} disabled={disabled} onClick={() => onSend(false)}>
        {action}
      </Button>
    </>
  )
}

/** Counts of an ingestion, and the values that did not fit. */
export function IngestionReport({ counts }: { readonly counts: IngestionCounts }) {
  const rows = misfitRows(counts)
  const clamped = counts.clampedValues.filter(({ values }) => values > 0)
  return (
    <>
      <Facts
        facts={[
          ['Rows read', formatExact(counts.rowsRead)],
          ['Rows stored', formatExact(counts.rowsStored)],
          ['People', shown(counts.people)],
          ['Rows without identifier, left out', shown(counts.rowsWithoutIdentifier)],
          ['Rows left out because their person has too many', shown(counts.rowsBeyondMaxRows)],
        ]}
      />
      {counts.joins !== undefined && (
        <Table
          label="References that lead nowhere"
          rows={counts.joins}
          keyOf={({ to }) => to}
          columns={[
            ['Reference', ({ from, to }) => <code>{`${from} → ${to}`}</code>],
            ['Missing', ({ missing }) => formatExact(missing), 'right'],
            ['Leads nowhere', ({ dangling }) => formatExact(dangling), 'right'],
            counts.joins.some(({ beyondMaxRows }) => beyondMaxRows !== undefined) && [
              'Beyond the rows of a person',
              ({ beyondMaxRows = {} }) => beyondText(beyondMaxRows),
            ],
          ]}
        />
      )}
      {rows.length > 0 && (
        <Table
          label="Values that did not fit"
          rows={rows}
          keyOf={({ column, rule }) => `${column} ${rule}`}
          columns={[
            ['Column', ({ column }) => <code>{column}</code>],
            ['Did not fit', ({ rule }) => rule],
            ['Values', ({ values }) => formatExact(values), 'right'],
            ['First places', ({ places }) => places],
          ]}
        />
      )}
      {clamped.length > 0 && (
        <>
          <Table
            label="Values beyond the bounds"
            rows={clamped}
            keyOf={({ column }) => column}
            columns={[
              ['Column', ({ column }) => <code>{column}</code>],
              ['Clamped to a bound', ({ values }) => formatExact(values), 'right'],
            ]}
          />
          <p>
            Half-widths do not cover clamping. If many values are clamped, think again which values are
            plausible, from what you know outside of this data.
          </p>
        </>
      )}
      {rows.length === 0 && clamped.length === 0 && <p>Every value fits its declaration.</p>}
      <Notice>These numbers are exact. Do not publish them.</Notice>
    </>
  )
}

/** Formats a count; undefined, and so not shown, if there is nothing to count. */
function shown(count: number | undefined): string | undefined {
  return count === undefined || count === 0 ? undefined : formatExact(count)
}

/** Says how many rows of each of two facts were left out. */
function beyondText(beyondMaxRows: Readonly<Record<string, number>>): string {
  return Object.entries(beyondMaxRows)
    .map(([table, rows]) => `${table}: ${formatExact(rows)}`)
    .join(', ')
}
