import { Interval } from '../../components/charts/interval.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Pill, Table } from '../../components/tables/tables.tsx'
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
    return (
      <>
        <NumberErrors evaluation={evaluation} title={titled('Errors beside theory')} />
        <OneRun evaluation={evaluation} title={titled('One run')} />
      </>
    )
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
        ['Number', (row) => <strong>{nameOfNumber(row)}</strong>],
        ['Truth', ({ truth }) => shown(truth), 'right'],
        ['Mean error', ({ meanAbsoluteError }) => measured(meanAbsoluteError), 'right'],
        ['In theory', inTheory, 'right'],
        [
          'Error beside theory',
          ({ meanAbsoluteError }) => <Whisker error={besideTheory(meanAbsoluteError)} />,
        ],
        ['Of the truth', ({ meanRelativeError: each }) => (each === null ? '' : formatShare(each)), 'right'],
        ['Bias', bias, 'right'],
        [
          `Within the half-width (${formatShare(confidence)})`,
          ({ withinHalfWidth: within }) =>
            within === null ? (
              ''
            ) : fallsShort(within, confidence, runs) ? (
              <Pill tone="danger">{formatShare(within)}</Pill>
            ) : (
              formatShare(within)
            ),
          'right',
        ],
      ]}
    />
  )
}

/** The first run: the truth, what was measured, and what an answer would publish. */
function OneRun({ evaluation, title }: ErrorsProps<NumberEvaluation>) {
  const [run] = evaluation.shown
  if (run === undefined) return null
  return (
    <Section
      title={title}
      lead="The true values may be shown, because the people are made up. Post-processing makes the published values from the measured ones."
    >
      <div className={styles.facts}>
        {run.totals.map(({ statistic, totalAbsoluteError: total, relativeTotalErrorPercent: percent }) => (
          <p key={statistic ?? ''}>
            {`Total error${statistic === undefined ? '' : ` of ${statistic}`}: `}
            <strong>{shown(total)}</strong>
            {percent !== null && `, ${formatShare(percent / 100)} of the truth`}.
          </p>
        ))}
      </div>
      <Table
        label="Values of one run"
        rows={run.values}
        keyOf={nameOfNumber}
        columns={[
          ['Number', (row) => <strong>{nameOfNumber(row)}</strong>],
          ['Truth', ({ truth }) => shown(truth), 'right'],
          ['Measured', ({ measured: value }) => shown(value), 'right'],
          ['Published', ({ noisy }) => shown(noisy), 'right'],
          ['Error', ({ absoluteError }) => shown(absoluteError), 'right'],
          ['Of the truth', ({ relativeError: each }) => (each === null ? '' : formatShare(each)), 'right'],
        ]}
      />
    </Section>
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

/** Measured error as a multiple of the error in theory. */
function Whisker({ error }: { readonly error: RelativeError | undefined }) {
  if (error === undefined) return null
  const { ratio, halfWidth, agrees } = error
  return (
    <Interval
      value={ratio}
      halfWidth={halfWidth}
      reference={1}
      span={0.3}
      look={agrees ? 'accent' : 'danger'}
      label={`${formatEstimate(Number(ratio.toPrecision(3)))} times the theory`}
    />
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
          ['Candidate', ({ candidate }) => <strong>{labelText(candidate)}</strong>],
          ['Rows', ({ truth }) => formatExact(truth), 'right'],
          ['Won', ({ won }) => formatExact(won), 'right'],
          ['Share of the runs', ({ won }) => <Share share={won / runs} />, 'right'],
          [
            'In theory',
            ({ probabilityToWin: theory }) => (theory === null ? '' : <Share share={theory} />),
            'right',
          ],
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
          ['Key', ({ key }) => <strong>{key}</strong>],
          ['Truth', ({ truth }) => formatExact(truth), 'right'],
          ['Appeared', ({ appeared }) => <Share share={appeared / runs} />, 'right'],
          ['In theory', ({ probabilityToAppear }) => <Share share={probabilityToAppear} />, 'right'],
          ['Mean error', ({ meanAbsoluteError: mean }) => shown(mean?.value ?? null), 'right'],
        ]}
      />
    </Section>
  )
}
