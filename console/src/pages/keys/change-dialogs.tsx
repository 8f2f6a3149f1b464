import { useState } from 'react'
import { bodyOf, requests } from '../../api/api.ts'
import { FormDialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import type { ApiKey, IssuedKey } from './key-request.ts'

/** Times for which the previous key can stay valid. */
const OVERLAPS = [
  { seconds: 0, title: 'Ends at once' },
  { seconds: 3_600, title: 'One hour' },
  { seconds: 86_400, title: 'One day' },
  { seconds: 604_800, title: 'One week' },
  { seconds: 2_592_000, title: '30 days' },
] as const

export interface RotateDialogProps {
  readonly apiKey: ApiKey
  readonly onIssued: (issued: IssuedKey) => void
  readonly onClose: () => void
}

/** Replaces a key by a new one under the same id. */
export function RotateDialog({ apiKey: { id }, onIssued, onClose }: RotateDialogProps) {
  const [overlapSeconds, setOverlap] = useState(3_600)
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
      <Field label="Validity of the previous key" hint="Its users change to the new key in this time.">
        {(attributes) => (
          <select
            {...attributes}
            value={overlapSeconds}
            onChange={(event) => setOverlap(Number(event.target.value))}
          >
            {OVERLAPS.map(({ seconds, title }) => (
              <option key={seconds} value={seconds}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
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
  const remove = () => requests.DELETE('/v1/keys/{id}', { params: { path: { id } } })
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
