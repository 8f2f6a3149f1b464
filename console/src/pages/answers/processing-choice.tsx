import { Checkbox } from '../../components/choice.tsx'
import styles from './answers.module.css'
import type { Processing } from './processing.ts'

interface ProcessingChoiceProps {
  /** Post-processing that the answer allows. */
  readonly offered: Processing
  readonly processing: Processing
  readonly onChange: (processing: Processing) => void
}

/** Choice of post-processing, which is free. Nothing is shown for an answer that allows none. */
export function ProcessingChoice({ offered, processing, onChange }: ProcessingChoiceProps) {
  if (!offered.round) return null
  return (
    <div className={styles.processing}>
      <Checkbox
        label="Round to whole numbers"
        checked={processing.round}
        onChange={(round) => onChange({ ...processing, round })}
      />
      {offered.nonNegative && (
        <Checkbox
          label="Replace negative values by 0"
          checked={processing.nonNegative}
          onChange={(nonNegative) => onChange({ ...processing, nonNegative })}
        />
      )}
      <span className={styles.free}>Free: it uses the paid answer only.</span>
    </div>
  )
}
