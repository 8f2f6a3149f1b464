import type { components } from 'sotto-client'
import { api, requests } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Facts } from '../../components/facts.tsx'
import { Notice } from '../../components/notice.tsx'
import { Table } from '../../components/table.tsx'
import { formatExact, formatShare } from '../../format/number.ts'
import { misfitRows } from './misfits.ts'
import styles from './register.module.css'

export type IngestionCounts = components['schemas']['IngestionCounts']

const PHASES: Readonly<Record<components['schemas']['Ingestion']['phase'], string>> = {
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
          .DELETE('/v1/ingestions/{ingestion}', { params: { path: { ingestion: found.id } } })
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

/** What an ingestion counted, and the values that did not fit. */
export function IngestionReport({ counts }: { readonly counts: IngestionCounts }) {
  const rows = misfitRows(counts)
  return (
    <>
      <Facts
        facts={[
          ['Rows read', formatExact(counts.rowsRead)],
          ['Rows stored', formatExact(counts.rowsStored)],
          ['People', shown(counts.people)],
          ['Rows without identifier, left out', shown(counts.rowsWithoutIdentifier)],
          ['Rows beyond those of a person, left out', shown(counts.rowsBeyondMaxRows)],
        ]}
      />
      {rows.length > 0 && (
        <Table
          label="Values that did not fit"
          rows={rows}
          keyOf={({ column, rule }) => `${column} ${rule}`}
          columns={[
            { title: 'Column', cell: ({ column }) => <code>{column}</code> },
            { title: 'Did not fit', cell: ({ rule }) => rule },
            { title: 'Values', align: 'right', cell: ({ values }) => formatExact(values) },
            { title: 'First places', cell: ({ places }) => places },
          ]}
        />
      )}
      {rows.length === 0 && <p>Every value fits its declaration.</p>}
      <Notice>These numbers are exact. Do not publish them.</Notice>
    </>
  )
}

/** Formats a count; undefined, and so not shown, if there is nothing to count. */
function shown(count: number | undefined): string | undefined {
  return count === undefined || count === 0 ? undefined : formatExact(count)
}
