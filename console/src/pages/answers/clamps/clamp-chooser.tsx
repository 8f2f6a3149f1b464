import { useId, useState } from 'react'
import { ButtonLink } from '../../../components/forms/button.tsx'
import { Notice } from '../../../components/notices/notices.tsx'
import { formatExact, formatHalfWidth, formatShare } from '../../../format/number.ts'
import { askAgainAddress } from '../../history/history-filter.ts'
import { type AnswerPart, valueText } from '../answer-text.ts'
import type { AskedQuestion } from '../question-text.ts'
import { clampedQuestion, errorsOf, type Histogram, histogramOf, recommendedEnds } from './clamp-choice.ts'
import styles from './clamp-chooser.module.css'

export interface ClampChooserProps {
  readonly part: AnswerPart
  readonly dataset: string
  /** The question that was answered. */
  readonly question: AskedQuestion | undefined
}

/** A clamp over the paid histogram of a `bounds` question, with its noise and its bias. Nothing for other answers. */
export function ClampChooser({ part, ...asked }: ClampChooserProps) {
  const histogram = histogramOf(part)
  if (histogram !== undefined) return <Chooser histogram={histogram} {...asked} />
  if (!('cells' in part.result) || part.result.clamps === undefined) return null
  return (
    <Notice>
      No clamp can be recommended, because no band stands out from the noise: its count would have to be above{' '}
      {formatExact(part.accuracy.rowsToAppear ?? 0)}. A larger epsilon lowers that.
    </Notice>
  )
}

interface ChooserProps extends Omit<ClampChooserProps, 'part'> {
  readonly histogram: Histogram
}

function Chooser({ histogram, dataset, question }: ChooserProps) {
  const { edges, clamps } = histogram
  const [[from, to], setEnds] = useState(() => recommendedEnds(histogram))
  const last = edges.length - 1
  const clamp = { lower: edges[from] ?? 0, upper: edges[to] ?? 0 }
  const { sum, mean, shareBeyond } = errorsOf(histogram, clamp)
  const errors = [['Sum', sum] as const, ['Mean', mean] as const]
  return (
    <fieldset className={styles.chooser}>
      <legend>Choose a clamp</legend>
      <Bars histogram={histogram} from={from} to={to} />
      <End
        label="Lower bound"
        edges={edges}
        place={from}
        onChange={(next) => setEnds([Math.min(next, last - 1), Math.max(to, Math.min(next, last - 1) + 1)])}
      />
      <End
        label="Upper bound"
        edges={edges}
        place={to}
        onChange={(next) => setEnds([Math.min(from, Math.max(next, 1) - 1), Math.max(next, 1)])}
      />
      <output className={styles.errors}>
        {errors.map(
          ([title, error]) =>
            error !== undefined && (
              <span key={title}>
                <b>{title}</b>: noise ± {formatHalfWidth(error.noise)}, cut off {formatHalfWidth(error.bias)},
                together {formatHalfWidth(error.total)}
              </span>
            ),
        )}
        <span>{formatShare(shareBeyond)} of the rows are beyond.</span>
      </output>
      <p className={styles.note}>
        At epsilon {clamps.nextEpsilon} for the next question, estimated from the counts that are paid. It
        costs nothing.
      </p>
      {question !== undefined && (
        <div className={styles.links}>
          {(['sum', 'mean'] as const).map(
            (kind) =>
              (kind === 'mean' || sum !== undefined) && (
                <ButtonLink
                  key={kind}
                  href={askAgainAddress(dataset, clampedQuestion(kind, question, clamp, histogram))}
                >
                  Write the {kind} with this clamp
                </ButtonLink>
              ),
          )}
        </div>
      )}
    </fieldset>
  )
}

interface BarsProps extends Pick<ChooserProps, 'histogram'> {
  readonly from: number
  readonly to: number
}

/** The counts of the bands, of which those within the clamp stand out. The table of values states them. */
function Bars({ histogram: { bands }, from, to }: BarsProps) {
  const most = Math.max(1, ...bands.map(({ rows }) => rows))
  return (
    <div className={styles.bars} aria-hidden="true">
      {bands.map(({ lower, rows }, band) => (
        <span
          key={lower}
          data-within={band >= from && band < to}
          style={{ height: `${Math.round((100 * rows) / most)}%` }}
        />
      ))}
    </div>
  )
}

interface EndProps {
  readonly label: string
  readonly edges: Histogram['edges']
  readonly place: number
  readonly onChange: (place: number) => void
}

function End({ label, edges, place, onChange }: EndProps) {
  const id = useId()
  const shown = valueText(edges[place] ?? 0)
  return (
    <div className={styles.end}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={edges.length - 1}
        value={place}
        aria-valuetext={shown}
        onChange={(event) => onChange(Number(event.target.value))}
      />
      <span>{shown}</span>
    </div>
  )
}
