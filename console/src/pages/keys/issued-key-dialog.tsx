import { Button } from '../../components/button.tsx'
import { Code } from '../../components/code.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Notice } from '../../components/notice.tsx'
import type { IssuedKey } from './key-request.ts'
import styles from './keys.module.css'

export interface IssuedKeyDialogProps {
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
