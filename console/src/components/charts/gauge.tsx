import type { Amount } from 'sotto-client'
import { formatSpent, sizeOf } from '../../format/amount.ts'
import { formatShare } from '../../format/number.ts'
import styles from './gauge.module.css'

export interface GaugeProps {
  /** Name of the budget, for screen readers. */
  readonly label: string
  readonly cap: Amount
  readonly spent: Amount
  /** Amount that a question would cost, drawn after what is spent. */
  readonly proposed?: Amount | undefined
}

/** Bar that shows how much of a budget is spent, and how much a question would add. */
export function Gauge({ label, cap, spent, proposed }: GaugeProps) {
  const whole = sizeOf(cap)
  const shareOf = (amount: Amount) => (whole === 0 ? 1 : Math.min(1, sizeOf(amount) / whole))
  const spentShare = shareOf(spent)
  const proposedShare = proposed === undefined ? 0 : Math.min(shareOf(proposed), 1 - spentShare)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <meter> has one part only
    <div
      className={styles.gauge}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={1}
      aria-valuenow={spentShare}
      aria-valuetext={`${formatSpent(spent, cap)} (${formatShare(spentShare)})`}
    >
      <span className={styles.spent} style={{ width: `${100 * spentShare}%` }} />
      <span className={styles.proposed} style={{ width: `${100 * proposedShare}%` }} />
    </div>
  )
}
