import { Pill } from '../../components/pill.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatEstimate, formatExact, formatHalfWidth, formatShare } from '../../format/number.ts'
import { labelText } from '../answers/answer-text.ts'
import {
  besideTheory,
  type EvaluatedNumber,
  fallsShort,
  type NumberEvaluation,
  nameOfNumber,
  type RelativeError,
} from './errors.ts'
import type { Evaluation } from './evaluation-stream.ts'
import styles from './evaluations.module.css'

type Candidates = Extract<Evaluation, { readonly candidates: unknown }>
type Keys = Extract<Evaluation, { readonly keys: unknown }>

/** Errors of the answers to a question, beside theory. */
export function EvaluationView({ evaluation }: { readonly evaluation: Evaluation }) {
  if ('values' in evaluation) return <NumberErrors evaluation={evaluation} />
  if ('candidates' in evaluation) return <SelectionErrors evaluation={evaluation} />
  return <KeyErrors evaluation={evaluation} />
}

function NumberErrors({ evaluation }: { readonly evaluation: NumberEvaluation }) {
  const { values, totals, runs, confidence, accuracy } = evaluation
  const compared = values.flatMap(({ meanAbsoluteError }) => besideTheory(meanAbsoluteError) ?? [])
  const agreeing = compared.filter(({ agrees }) => agrees).length
  return (
    <Section title="Errors beside theory" lead={`${formatExact(runs)} ${runs === 1 ? 'run' : 'runs'}`}>
      <div className={styles.facts}>
        {totals.map(({ statistic, totalAbsoluteError: total, relativeTotalErrorPercent: percent }) => (
          <p key={statistic ?? ''}>
            {values.length === 1
              ? 'Mean error'
              : `Mean total error${statistic === undefined ? '' : ` of ${statistic}`}`}
            : <strong>{shown(total.value)}</strong>
            {total.standardError !== null && ` ± ${formatHalfWidth(total.standardError)} (standard error)`}
            {total.theoretical !== null && `; in theory ${formatEstimate(total.theoretical)}`}
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
      <Table
        label="Errors of each number"
        rows={values}
        keyOf={nameOfNumber}
        columns={[
          { title: 'Number', cell: (row) => <strong>{nameOfNumber(row)}</strong> },
          { title: 'Truth', cell: ({ truth }) => shown(truth), align: 'right' },
          { title: 'Mean error', cell: ({ meanAbsoluteError: { value } }) => shown(value), align: 'right' },
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
      <p className={styles.note}>
        The dot is the measured error as a multiple of the error in theory, the bar two standard errors to
        each side, and the line the theory, on a scale from 0.7 to 1.3.
      </p>
    </Section>
  )
}

function shown(value: number | string | null): string {
  if (value === null) return ''
  return typeof value === 'number' ? formatEstimate(value) : value
}

function inTheory({ meanAbsoluteError: { theoretical, theoreticalBound } }: EvaluatedNumber): string {
  if (theoretical !== null) return formatEstimate(theoretical)
  return theoreticalBound === null ? '' : `at most ${formatEstimate(theoreticalBound)}`
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

function SelectionErrors({ evaluation }: { readonly evaluation: Candidates }) {
  const { candidates, runs, shortfallRows, withinHalfWidth, confidence, accuracy } = evaluation
  return (
    <Section title="Selected candidates" lead={`${formatExact(runs)} ${runs === 1 ? 'run' : 'runs'}`}>
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

function KeyErrors({ evaluation }: { readonly evaluation: Keys }) {
  const { keys, runs, distinctKeys } = evaluation
  return (
    <Section
      title="Keys"
      lead={`${formatExact(runs)} ${runs === 1 ? 'run' : 'runs'}; ${formatExact(distinctKeys)} keys in the data`}
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
