import { useState } from 'react'
import { Button } from '../../components/forms/button.tsx'
import { TextAreaField, TextField } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import styles from './audit.module.css'
import { CheckList } from './check-list.tsx'
import type { Check } from './checks.ts'
import type { StatedHead } from './ledger-source.ts'
import { receiptChecks, type VerifiedExport } from './receipt-checks.ts'

export interface ReceiptSectionProps {
  /** Export in which the receipts are looked for, once it is verified. */
  readonly verified: VerifiedExport | undefined
  readonly head: StatedHead | undefined
}

/** Form that looks for pasted receipts, answers and heads in a verified export. */
export function ReceiptSection({ verified, head }: ReceiptSectionProps) {
  const [found, setFound] = useState<{
    readonly verified: VerifiedExport
    readonly checks: readonly Check[]
  }>()
  const [error, setError] = useState<string>()
  const check = async (form: FormData) => {
    if (verified === undefined) return
    try {
      const key = String(form.get('key') ?? '').trim() || head?.publicKey
      setFound({ verified, checks: await receiptChecks(verified, await textOf(form), key) })
      setError(undefined)
    } catch (thrown) {
      setFound(undefined)
      // Anything else comes from reading the file, which may have moved.
      setError(thrown instanceof SyntaxError ? `The text ${thrown.message}.` : 'The file cannot be read.')
    }
  }
  return (
    <Section
      title="Check receipts"
      lead="Paste an answer, its receipt, or a head that you noted earlier: one JSON document, or one on each line."
    >
      <form
        className={styles.fields}
        // A form action would empty the fields.
        onSubmit={(event) => {
          event.preventDefault()
          void check(new FormData(event.currentTarget))
        }}
      >
        <ReceiptFields error={error} />
        <div className={styles.run}>
          <Button type="submit" disabled={verified === undefined}>
            Check
          </Button>
          {verified === undefined && <span>Verify the ledger first.</span>}
        </div>
      </form>
      {found !== undefined && found.verified === verified && (
        <div role="status">
          <CheckList checks={found.checks} />
        </div>
      )}
    </Section>
  )
}

/** Returns the text of the chosen file, or the text that was pasted. */
async function textOf(form: FormData): Promise<string> {
  const file = form.get('file')
  return file instanceof File && file.size > 0 ? file.text() : String(form.get('receipts') ?? '')
}

function ReceiptFields({ error }: { readonly error: string | undefined }) {
  return (
    <>
      <TextAreaField
        label="Answers, receipts or heads"
        error={error}
        name="receipts"
        rows={6}
        spellCheck={false}
      />
      <details>
        <summary>A file, or another public key</summary>
        <div className={styles.fields}>
          <TextField
            label="Answer as a file"
            hint="The hash of an answer is that of its bytes. A file keeps them as they are."
            type="file"
            name="file"
            className={styles.file}
            accept=".json,.jsonl"
          />
          <TextAreaField
            label="Public key (PEM)"
            hint="The key that you got over another channel. Default: the key that the service states."
            name="key"
            rows={4}
            spellCheck={false}
          />
        </div>
      </details>
    </>
  )
}
