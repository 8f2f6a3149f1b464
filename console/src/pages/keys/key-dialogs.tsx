import { useState } from 'react'
import { at, bodyOf, requests } from '../../api/api.ts'
import { Button } from '../../components/forms/button.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { Dialog, FormDialog } from '../../components/layout/dialog.tsx'
import { Notice } from '../../components/notices/notices.tsx'
import { Code } from '../../components/tables/code.tsx'
import type { ApiKey, IssuedKey } from './key-request.ts'
import styles from './keys.module.css'

/** Times in seconds for which the previous key can stay valid. */
const OVERLAPS = [
  [0, 'Ends at once'],
  [3_600, 'One hour'],
  [86_400, 'One day'],
  [604_800, 'One week'],
  [2_592_000, '30 days'],
] as const

export interface RotateDialogProps {
  readonly apiKey: ApiKey
  readonly onIssued: (issued: IssuedKey) => void
  readonly onClose: () => void
}

/** Replaces a key by a new one under the same id. */
export function RotateDialog({ apiKey: { id }, onIssued, onClose }: RotateDialogProps) {
  const [overlapSeconds, setOverlap] = useState<number>(3_600)
  const rotate = () =>
    bodyOf(requests.POST('/v1/keys/{id}/rotate', { params: { path: { id } }, body: { overlapSeconds } }))
  return (
    <FormDialog
      title={`Rotate ${id}`}
      action="Rotate"
      lost="The key may have been rotated, but the text of the new one is lost. Rotate it once more."
      onSubmit={rotate}
      onDone={onIssued}
      onClose={onClose}
    >
      <p>The service issues a new key under the same id. Spending, allotments and answers stay.</p>
      <SelectField
        label="Validity of the previous key"
        hint="Its users change to the new key in this time."
        value={overlapSeconds}
        options={OVERLAPS}
        onChange={setOverlap}
      />
    </FormDialog>
  )
}

export interface DeleteDialogProps {
  readonly apiKey: ApiKey
  /** True if the key belongs to the person who is signed in. */
  readonly isOwn: boolean
  readonly onDeleted: () => void
  readonly onClose: () => void
}

/** Asks for a confirmation, then deletes a key. */
export function DeleteDialog({ apiKey: { id, name }, isOwn, onDeleted, onClose }: DeleteDialogProps) {
  const remove = () => requests.DELETE('/v1/keys/{id}', at({ id }))
  return (
    <FormDialog
      title={`Delete ${id}?`}
      action="Delete the key"
      look="danger"
      onSubmit={remove}
      onDone={onDeleted}
      onClose={onClose}
    >
      <p>
        Requests with this key are refused from then on. The answers, spending and allotments of{' '}
        <strong>{name}</strong> stay.
      </p>
      {isOwn && <Notice tone="cost">You may be signed in with this key.</Notice>}
    </FormDialog>
  )
}

interface IssuedKeyDialogProps {
  readonly issued: IssuedKey
  readonly onClose: () => void
}

/** Shows the text of a new key. The service never shows it again. */
export function IssuedKeyDialog({ issued, onClose }: IssuedKeyDialogProps) {
  return (
    <Dialog title={`Key ${issued.id}`} onClose={onClose}>
      <div className={styles.form}>
        <Notice tone="cost" title="Copy the key now">
          The service keeps only its digest and cannot show the key again. Send it over a channel that others
          do not read.
        </Notice>
        <div className={styles.key}>
          <Code label="Key" code={issued.key} />
        </div>
        <div className={styles.buttons}>
          <Button look="primary" onClick={onClose}>
            I have stored it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
