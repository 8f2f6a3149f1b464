import { useState } from 'react'
import type { TimeSeries } from '../../../../src/studies/plots/time-series.ts'
import { api } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { Button } from '../../components/forms/button.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { Loading, ProblemNotice } from '../../components/notices/notices.tsx'
import { formatCount, formatExact, formatHalfWidth } from '../../format/number.ts'
import type { AnswerPart } from './answer-text.ts'
import { AnswerValues } from './answer-values.tsx'
import styles from './answers.module.css'
import { DownloadCsv, DownloadTables } from './downloads.tsx'
import { HeatTable } from './heat-table.tsx'
import {
  type CellsAnswer,
  heatOf,
  type MarginalsResult,
  type MarginalTable,
  tableAnswer,
} from './marginals.ts'
import { ReleasePicture } from './release-picture.tsx'

/** Largest number of cells of a table that the page loads. Larger ones are downloaded. */
const MOST_LOADED = 100_000
/** Cells that are shown at once. */
const MOST_SHOWN = 25

export interface MarginalsViewProps {
  readonly part: AnswerPart
  readonly result: MarginalsResult
  /** Release with the tables; absent for made-up rows, and for an answer of a batch. */
  readonly id: string | undefined
  /** Returns the values of one table over time, if they are by consecutive periods. */
  readonly seriesOf: (answer: CellsAnswer) => readonly TimeSeries[]
}

/** The tables of an answer of marginals. One is chosen by its columns, and shown with its values and a picture. */
export function MarginalsView({ result, ...shown }: MarginalsViewProps) {
  const { tables } = result
  const [place, setPlace] = useState(0)
  const table = tables[place]
  if (table === undefined) return null
  return (
    <>
      <div className={styles.tableChoice}>
        <SelectField
          label={`Table, of ${formatCount(tables.length, 'table')} that agree with each other`}
          options={tables.map((each, at) => [at, tableText(each)] as const)}
          groupOf={(at) => formatCount(tables[at]?.columns.length ?? 0, 'column')}
          value={place}
          onChange={setPlace}
        />
      </div>
      <ChosenTable key={place} table={table} result={result} {...shown} />
    </>
  )
}

function tableText({ columns, cells, halfWidth }: MarginalTable): string {
  return `${columns.join(' and ')} (${formatCount(cells, 'cell')}, ± ${formatHalfWidth(halfWidth)})`
}

interface ChosenProps extends MarginalsViewProps {
  readonly table: MarginalTable
}

function ChosenTable({ table, result, part, id, seriesOf }: ChosenProps) {
  const { columns, cells } = table
  const isLoaded = table.values === undefined && id !== undefined && cells <= MOST_LOADED
  const { data, error, refetch } = api.useQuery(
    'get',
    '/v1/releases/{id}/tables',
    { params: { path: { id: id ?? '' }, query: { columns: columns.join(','), format: 'json' } } },
    { enabled: isLoaded, staleTime: Number.POSITIVE_INFINITY },
  )
  // The format that is asked for is JSON.
  const { tables } = (data ?? { tables: [] }) as Schemas['ReleasedTables']
  const loaded = tables.find((each) => each.columns.join() === columns.join())
  const answer = tableAnswer(part, result, table, table.values ?? loaded?.values)
  return (
    <>
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {isLoaded && error === null && answer === undefined && <Loading what="the table" />}
      {answer !== undefined && <Values answer={answer} id={id} charts={seriesOf(answer)} columns={columns} />}
      {answer === undefined && !isLoaded && (
        <p className={styles.coverage}>
          {id === undefined
            ? 'All tables together are too large for this answer. Ask for them on their own to see their values.'
            : 'This table is too large for a page. Download it to see its values.'}
        </p>
      )}
      <div className={styles.downloads}>
        {id !== undefined && <DownloadTables id={id} columns={columns} />}
        {id === undefined && answer !== undefined && (
          <DownloadCsv name={`made-up-${columns.join('-')}`} part={answer} />
        )}
      </div>
    </>
  )
}

interface ValuesProps extends Pick<MarginalsViewProps, 'id'> {
  readonly answer: CellsAnswer
  readonly charts: readonly TimeSeries[]
  readonly columns: readonly string[]
}

/** Some cells of a table at once, and its picture: lines over time, a heat table of two columns if that fits, or that of the service. */
function Values({ answer, id, charts, columns }: ValuesProps) {
  const [first, setFirst] = useState(0)
  const { cells } = answer.result
  const end = Math.min(cells.length, first + MOST_SHOWN)
  const heat = charts.length > 0 ? undefined : heatOf(answer)
  const hasPicture = charts.length === 0 && heat === undefined
  return (
    <>
      <AnswerValues part={{ ...answer, result: { cells: cells.slice(first, end) } }} charts={charts} />
      {cells.length > MOST_SHOWN && (
        <nav className={styles.downloads} aria-label="Cells">
          <Button look="quiet" disabled={first === 0} onClick={() => setFirst(first - MOST_SHOWN)}>
            Previous cells
          </Button>
          <Button look="quiet" disabled={end === cells.length} onClick={() => setFirst(end)}>
            Next cells
          </Button>
          <span className={styles.free}>
            {formatExact(first + 1)} to {formatExact(end)} of {formatExact(cells.length)}
          </span>
        </nav>
      )}
      {heat !== undefined && <HeatTable heat={heat} />}
      {hasPicture && id !== undefined && <ReleasePicture id={id} columns={columns} />}
    </>
  )
}
