import { useState } from 'react'
import { useAttempt } from '../../../api/use-attempt.ts'
import { Button } from '../../../components/forms/button.tsx'
import { Radios } from '../../../components/forms/fields.tsx'
import { ProblemNotice } from '../../../components/notices/notices.tsx'
import { formatShare } from '../../../format/number.ts'
import styles from '../register.module.css'
import {
  type EnteredSource,
  isComplete,
  NO_SOURCE,
  type PickedSource,
  type Picking,
  pickSource,
} from './picked-source.ts'
import { SourceFields } from './source-fields.tsx'

const KINDS = [
  { value: 'upload', label: 'Upload a file', hint: 'CSV, also compressed by gzip, or Parquet.' },
  {
    value: 'joined',
    label: 'Upload several files',
    hint: 'Tables that refer to each other, such as visits, patients and hospitals.',
  },
  {
    value: 'file',
    label: 'A file in the data folder',
    hint: 'For large files, which an operator has copied there.',
  },
  { value: 'table', label: 'A table of a database', hint: 'In a database that an operator has connected.' },
  { value: 'made-up', label: 'Made-up people', hint: 'Generated from numbers and a seed, to practise.' },
] as const

export interface SourcePickerProps {
  readonly action: string
  readonly onPicked: (source: PickedSource) => void
}

/** Form that uploads a file or names a table, and drafts its declaration. */
export function SourcePicker({ action, onPicked }: SourcePickerProps) {
  const [entered, setEntered] = useState(NO_SOURCE)
  const { attempt, start, stop } = useAttempt<Picking, void>()
  const change = (changes: Partial<EnteredSource>) => setEntered({ ...entered, ...changes })
  const isBusy = attempt.state === 'running'
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy && isComplete(entered))
          void start({ step: 'draft' }, async (options) => onPicked(await pickSource(entered, options)))
      }}
    >
      <Radios
        legend="Where are the data?"
        value={entered.kind}
        choices={KINDS}
        onChange={(kind) => change({ kind })}
      />
      <SourceFields entered={entered} onChange={change} />
      {attempt.state === 'failed' && <ProblemNotice error={attempt.error} />}
      {attempt.state === 'running' && <PickingProgress picking={attempt.progress} onStop={stop} />}
      <div className={styles.actions}>
        <Button type="submit" look="primary" busy={isBusy} disabled={!isComplete(entered)}>
          {action}
        </Button>
      </div>
    </form>
  )
}

interface PickingProgressProps {
  readonly picking: Picking
  readonly onStop: () => void
}

function PickingProgress({ picking, onStop }: PickingProgressProps) {
  const isUpload = picking.step === 'upload'
  const what = isUpload ? `Uploading ${picking.name}` : 'Drafting the declaration'
  // All bytes are sent before the service has stored them.
  const isSent = isUpload && picking.share === 1
  return (
    <div className={styles.progress}>
      <span role="status">
        {what}
        {/* Not announced at every step. */}
        {isUpload && <span aria-hidden="true">: {formatShare(Math.floor(picking.share * 100) / 100)}</span>}
        {isSent && ', which the service now stores'} …
      </span>
      <progress aria-label={what} max={1} {...(isUpload && !isSent ? { value: picking.share } : {})} />
      <Button onClick={onStop}>Stop</Button>
    </div>
  )
}
