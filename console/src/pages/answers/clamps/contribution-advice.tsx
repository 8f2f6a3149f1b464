import { ButtonLink } from '../../../components/forms/button.tsx'
import { Pill, Table } from '../../../components/tables/tables.tsx'
import { formatCount, formatHalfWidth } from '../../../format/number.ts'
import { askAgainAddress } from '../../history/history-filter.ts'
import styles from '../answers.module.css'
import type { ClampChooserProps } from './clamp-chooser.tsx'

/** Bounds on the rows of a person, weighed from the paid counts of a `contributionProfile`. Nothing for other answers. */
export function ContributionAdvice({ part: { result }, dataset, question }: ClampChooserProps) {
  if (!('cells' in result) || result.contributions === undefined) return null
  const { candidates, recommended, nextEpsilon } = result.contributions
  const { rows } = recommended
  const next = { kind: 'count', where: question?.where, contribution: { rows }, epsilon: nextEpsilon }
  return (
    <div className={styles.advice}>
      <Table
        cards
        label="Bounds on the rows of a person"
        rows={candidates}
        keyOf={(each) => String(each.rows)}
        columns={[
          [
            'At most',
            (each) => (
              <>
                {formatCount(each.rows, 'row')} {each.rows === rows && <Pill tone="accent">recommended</Pill>}
              </>
            ),
          ],
          ['Noise of a count', ({ noise }) => `± ${formatHalfWidth(noise)}`, 'right'],
          [
            'Rows left out',
            ({ leftOut: { value, lower, upper } }) =>
              `${formatHalfWidth(value)} (${formatHalfWidth(lower)} to ${formatHalfWidth(upper)})`,
            'right',
          ],
          ['Together', ({ total }) => formatHalfWidth(total), 'right'],
        ]}
      />
      <p className={styles.free}>
        At epsilon {nextEpsilon} for the next count, estimated from the counts that are paid. It costs
        nothing.
      </p>
      <ButtonLink href={askAgainAddress(dataset, next)}>Write the count with this bound</ButtonLink>
    </div>
  )
}
