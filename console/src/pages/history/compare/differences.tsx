import type { ReactNode } from 'react'
import { Interval } from '../../../components/charts/interval.tsx'
import { Section } from '../../../components/layout/page.tsx'
import { Notice } from '../../../components/notices/notices.tsx'
import { Pill, Table } from '../../../components/tables/tables.tsx'
import { formatEstimate, formatHalfWidth, formatShare } from '../../../format/number.ts'
import type { StoredDocument } from '../../answers/answer-text.ts'
import styles from '../history.module.css'
import { type ComparedValue, compareAnswers, type Difference } from './comparison.ts'

/** Two answers that are compared. */
export interface Documents {
  readonly one: StoredDocument
  readonly other: StoredDocument
}

/** The differences of two answers, each with its bound and what it means. */
export function Differences({ one, other }: Documents) {
  const { differences, unmatched } = compareAnswers(one, other)
  if (differences.length === 0)
    return (
      <Notice>
        {[one, other].some(lacksValues)
          ? 'The tables are too large for the answers to contain their values. Download them from the page of each answer.'
          : 'The answers have no number in common that could be subtracted.'}
      </Notice>
    )
  const lowest = Math.min(...differences.map(({ confidence }) => confidence))
  const isOne = differences.length === 1
  const span = Math.max(
    ...differences.map(({ difference, halfWidth }) => Math.abs(difference) + (halfWidth ?? 0)),
  )
  return (
    <Section title="Difference" lead="The second answer minus the first.">
      <Table
        label="Differences"
        rows={differences}
        keyOf={({ label }) => label}
        columns={[
          !isOne && ['Value of', ({ label }) => label],
          ['First', ({ one }) => valueCell(one), 'right'],
          ['Second', ({ other }) => valueCell(other), 'right'],
          ['Difference', differenceText, 'right'],
          [
            'Against 0',
            ({ difference, halfWidth, verdict }) => (
              <Interval
                label={`${formatEstimate(difference)} against 0`}
                value={difference}
                halfWidth={halfWidth}
                reference={0}
                span={span}
                look={verdict === 'larger' ? 'accent' : 'muted'}
              />
            ),
          ],
          ['Meaning', VerdictPill],
        ]}
      />
      <div className={styles.notes}>
        <p>
          The ± of a difference is the sum of both half-widths. It holds with a probability of at least{' '}
          {formatShare(lowest)}
          {isOne ? '' : ', for each row on its own'}, whatever the noise of the two answers. It is cautious: a
          smaller difference may be real as well.
        </p>
        <p>
          It covers the noise that was added for privacy, and no other cause, such as chance in who is in the
          data.
          {isOne ? '' : ' Of many rows, a few may differ by more than the bound by chance.'}
        </p>
        {differences.some(({ verdict }) => verdict === 'unknown') && (
          <p>
            Where no ± is given, at least one of the half-widths is unknown, or is a number of rows, which
            says nothing about the distance between two values.
          </p>
        )}
        {unmatched.length > 0 && <p>Only one of the answers has: {unmatched.join('; ')}.</p>}
      </div>
    </Section>
  )
}

/** True for tables whose values are at an address of their own. */
function lacksValues(document: StoredDocument): boolean {
  return (
    'result' in document &&
    'tables' in document.result &&
    document.result.tables.some(({ values }) => values === undefined)
  )
}

function valueCell({ shown, halfWidth }: ComparedValue): ReactNode {
  return halfWidth === null ? shown : `${shown} ± ${formatHalfWidth(halfWidth)}`
}

function differenceText({ difference, halfWidth, unit }: Difference): ReactNode {
  const sign = difference > 0 ? '+' : ''
  const bound = halfWidth === null ? '' : ` ± ${formatHalfWidth(halfWidth)}`
  return (
    <strong>
      {sign}
      {formatEstimate(difference)}
      {bound} {unit}
    </strong>
  )
}

function VerdictPill({ verdict }: Difference) {
  switch (verdict) {
    case 'larger':
      return <Pill tone="accent">larger than the noise</Pill>
    case 'noise':
      return <Pill>within the noise</Pill>
    case 'unknown':
      return <Pill tone="cost">no bound known</Pill>
  }
}
