import { Pill } from '../../components/pill.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import {
  formatCount,
  formatEstimate,
  formatExact,
  formatHalfWidth,
  formatShare,
} from '../../format/number.ts'
import { labelText } from '../answers/answer-text.ts'
import {
  besideTheory,
  type EvaluatedNumber,
  fallsShort,
  type NumberEvaluation,
  nameOfNumber,
  type RelativeError,
} from './errors.ts'
import type { QueryEvaluation } from './evaluation-stream.ts'
import styles from './evaluations.module.css'

type Candidates = Extract<QueryEvaluation, { readonly candidates: unknown }>
type Keys = Extract<QueryEvaluation, { readonly keys: unknown }>

export interface EvaluationViewProps {
  readonly evaluation: QueryEvaluation
  /** Text before the titles, such as the place of a query in its batch. */
  readonly title?: string
}

/** Errors of the answers to a question, beside theory. */
export function EvaluationView({ evaluation, title }: EvaluationViewProps) {
  const titled = (what: string) => (title === undefined ? what : `${title}: ${what.toLowerCase()}`)
  if ('values' in evaluation)
    return <NumberErrors evaluation={evaluation} title={titled('Errors beside theory')} />
  if ('candidates' in evaluation)
    return <SelectionErrors evaluation={evaluation} title={titled('Selected candidates')} />
  return <KeyErrors evaluation={evaluation} title={titled('Keys')} />
}

interface ErrorsProps<Shown> {
  readonly evaluation: Shown
  readonly title: string
}

function NumberErrors({ evaluation, title }: ErrorsProps<NumberEvaluation>) {
  return (
    <Section title={title} lead={formatCount(evaluation.runs, 'run')}>
      <NumberFacts evaluation={evaluation} />
      <NumberTable evaluation={evaluation} />
      <p className={styles.note}>
        The dot is the measured error as a multiple of the error in theory, the bar two standard errors to
        each side, and the line the theory, on a scale from 0.7 to 1.3.
      </p>
    </Section>
  )
}

/** Errors of all numbers together. */
function NumberFacts({ evaluation }: { readonly evaluation: NumberEvaluation }) {
  const { values, totals, confidence, accuracy } = evaluation
  const compared = values.flatMap(({ meanAbsoluteError }) => besideTheory(meanAbsoluteError) ?? [])
  const agreeing = compared.filter(({ agrees }) => agrees).length
  return (
    <div className={styles.facts}>
      {totals.map(({ statistic, totalAbsoluteError: total, relativeTotalErrorPercent: percent }) => (
        <p key={statistic ?? ''}>
          {values.length === 1
            ? 'Mean error'
            : `Mean total error${statistic === undefined ? '' : ` of ${statistic}`}`}
          : <strong>{measured(total)}</strong>
          {total.standardError !== null && ` ± ${formatHalfWidth(total.standardError)} (standard error)`}
          {total.theoretical !== null && `; in theory ${theory(total.theoretical)}`}
          {percent.value !== null && `. That is ${formatShare(percent.value / 100)} of the truth`}.
        </p>
      ))}
      {compared.length > 0 && (
        <p>
          <Pill tone={agreeing === compared.length ? 'success' : 'cost'}>
            {formatExact(agreeing)} of {formatExact(compared.length)} agree
          </Pill>{' '}
          with theory within four standard errors.
        </p>
      )}
      {accuracy.halfWidth !== null && (
        <p>
          Stated half-width: {formatHalfWidth(accuracy.halfWidth)}
          {accuracy.unit === undefined ? '' : ` ${accuracy.unit}`}, with a confidence of{' '}
          {formatShare(confidence)}.
        </p>
      )}
    </div>
  )
}

function NumberTable({
  evaluation: { values, runs, confidence },
}: {
  readonly evaluation: NumberEvaluation
}) {
  return (
    <Table
      label="Errors of each number"
      rows={values}
      keyOf={nameOfNumber}
      columns={[
        { title: 'Number', cell: (row) => <strong>{nameOfNumber(row)}</strong> },
        { title: 'Truth', cell: ({ truth }) => shown(truth), align: 'right' },
        { title: 'Mean error', cell: ({ meanAbsoluteError }) => measured(meanAbsoluteError), align: 'right' },
        { title: 'In theory', cell: inTheory, align: 'right' },
        {
          title: 'Error beside theory',
          cell: ({ meanAbsoluteError }) => <Whisker error={besideTheory(meanAbsoluteError)} />,
        },
        {
          title: 'Of the truth',
          cell: ({ meanRelativeError: each }) => (each === null ? '' : formatShare(each)),
          align: 'right',
        },
        { title: 'Bias', cell: bias, align: 'right' },
        {
          title: `Within the half-width (${formatShare(confidence)})`,
          cell: ({ withinHalfWidth: within }) =>
            within === null ? (
              ''
            ) : fallsShort(within, confidence, runs) ? (
              <Pill tone="danger">{formatShare(within)}</Pill>
            ) : (
              formatShare(within)
            ),
          align: 'right',
        },
      ]}
    />
  )
}

function shown(value: number | string | null): string {
  if (value === null) return ''
  return typeof value === 'number' ? formatEstimate(value) : value
}

function inTheory({ meanAbsoluteError: { theoretical, theoreticalBound } }: EvaluatedNumber): string {
  if (theoretical !== null) return theory(theoretical)
  return theoreticalBound === null ? '' : `at most ${theory(theoreticalBound)}`
}

/** Formats a mean over the runs with the digits that its standard error leaves any meaning to. */
function measured({
  value,
  standardError,
}: Pick<EvaluatedNumber['meanAbsoluteError'], 'value' | 'standardError'>) {
  return value === null ? '' : formatEstimate(value, standardError ?? undefined)
}

/** Formats an error that is computed, with the digits that matter in a comparison. */
function theory(value: number): string {
  return formatEstimate(Number(value.toPrecision(4)))
}

function bias({ bias: { value, standardError } }: EvaluatedNumber): string {
  if (value === null) return ''
  return standardError === null
    ? formatEstimate(value)
    : `${formatEstimate(Number(value.toPrecision(3)))} ± ${formatHalfWidth(standardError)}`
}

const WHISKER = { width: 130, height: 16, least: 0.7, largest: 1.3 }

/** Measured error as a multiple of the error in theory. */
function Whisker({ error }: { readonly error: RelativeError | undefined }) {
  if (error === undefined) return null
  const { width, height, least, largest } = WHISKER
  const at = (ratio: number) =>
    (width * (Math.min(largest, Math.max(least, ratio)) - least)) / (largest - least)
  const middle = height / 2
  return (
    <svg
      className={styles.whisker}
      data-agrees={error.agrees}
      width={width}
      height={height}
      role="img"
      aria-label={`${formatEstimate(Number(error.ratio.toPrecision(3)))} times the theory`}
    >
      <line className={styles.theory} x1={at(1)} x2={at(1)} y1="0" y2={height} />
      <line className={styles.bar} x1={at(error.lower)} x2={at(error.upper)} y1={middle} y2={middle} />
      <circle className={styles.dot} cx={at(error.ratio)} cy={middle} r="3.5" />
    </svg>
  )
}

function SelectionErrors({ evaluation, title }: ErrorsProps<Candidates>) {
  const { candidates, runs, shortfallRows, withinHalfWidth, confidence, accuracy } = evaluation
  return (
    <Section title={title} lead={formatCount(runs, 'run')}>
      <div className={styles.facts}>
        <p>
          A selected candidate falls short of the best by {shown(shortfallRows.value)} rows on average.{' '}
          {accuracy.halfWidth !== null && (
            <>
              Within the stated {formatHalfWidth(accuracy.halfWidth)} rows in {formatShare(withinHalfWidth)}{' '}
              of the runs (confidence {formatShare(confidence)}).
            </>
          )}
        </p>
      </div>
      <Table
        label="Candidates"
        rows={candidates}
        keyOf={({ candidate }) => labelText(candidate)}
        columns={[
          { title: 'Candidate', cell: ({ candidate }) => <strong>{labelText(candidate)}</strong> },
          { title: 'Rows', cell: ({ truth }) => formatExact(truth), align: 'right' },
          { title: 'Won', cell: ({ won }) => formatExact(won), align: 'right' },
          { title: 'Share of the runs', cell: ({ won }) => <Share share={won / runs} />, align: 'right' },
          {
            title: 'In theory',
            cell: ({ probabilityToWin: theory }) => (theory === null ? '' : <Share share={theory} />),
            align: 'right',
          },
        ]}
      />
    </Section>
  )
}

function Share({ share }: { readonly share: number }) {
  return (
    <span className={styles.share}>
      <span style={{ width: `${100 * share}%` }} />
      {share > 0 && share < 0.0001 ? 'below 0.01%' : formatShare(share)}
    </span>
  )
}

function KeyErrors({ evaluation, title }: ErrorsProps<Keys>) {
  const { keys, runs, distinctKeys } = evaluation
  return (
    <Section
      title={title}
      lead={`${formatCount(runs, 'run')}; ${formatExact(distinctKeys)} keys in the data`}
    >
      <Table
        label="Keys with the most rows"
        rows={keys}
        keyOf={({ key }) => key}
        columns={[
          { title: 'Key', cell: ({ key }) => <strong>{key}</strong> },
          { title: 'Truth', cell: ({ truth }) => formatExact(truth), align: 'right' },
          { title: 'Appeared', cell: ({ appeared }) => <Share share={appeared / runs} />, align: 'right' },
          {
            title: 'In theory',
            cell: ({ probabilityToAppear }) => <Share share={probabilityToAppear} />,
            align: 'right',
          },
          {
            title: 'Mean error',
            cell: ({ meanAbsoluteError: mean }) => shown(mean?.value ?? null),
            align: 'right',
          },
        ]}
      />
    </Section>
  )
}
