import { Slider } from '../../components/forms/slider.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Notice } from '../../components/notices/notices.tsx'
import { formatShare } from '../../format/number.ts'
import styles from './risk.module.css'
import type { Change } from './risk-state.ts'

/** Digits of a share that a percentage shows. */
const SHARE_DIGITS = 6

interface RiskSliderProps {
  readonly risk: number
  /** Probability of a correct guess without any answer. */
  readonly blind: number
  readonly change: Change
}

/** Slider for the accepted risk, in percent. A new risk discards the epsilon that was looked at. */
export function RiskSlider({ risk, blind, change }: RiskSliderProps) {
  const percent = Number((100 * risk).toFixed(SHARE_DIGITS - 2))
  return (
    <Slider
      label="Accepted risk, in %"
      hint={`How often the adversary may guess right. More than a blind guess, ${formatShare(blind)}.`}
      value={percent}
      scale={{ kind: 'linear', lower: Math.min(99, Math.ceil(100 * blind)), upper: 99 }}
      range={{ lower: 0.0001, upper: 99.9999 }}
      format={(value) => `${value} percent`}
      onChange={(next) => change({ risk: Number((next / 100).toFixed(SHARE_DIGITS)), epsilon: 0 })}
    />
  )
}

/** Says that the accepted risk is not above that of a guess without any answer. */
export function NoEpsilonNotice({ blind }: { readonly blind: number }) {
  return (
    <Notice tone="cost" title="No epsilon keeps this risk">
      A guess without any answer is right {formatShare(blind)} of the time. Accept a larger risk, or assume
      more people.
    </Notice>
  )
}

/** Sentences that record a choice of epsilon, for a privacy officer's files. */
export function Statement({ sentences }: { readonly sentences: readonly string[] }) {
  return (
    <Section
      title="Statement"
      lead="The assumptions and the result in words. The address of this page contains all of it."
    >
      <ol className={styles.statement}>
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ol>
    </Section>
  )
}
