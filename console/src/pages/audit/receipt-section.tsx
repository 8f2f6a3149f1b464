import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { Section } from '../../components/section.tsx'
import styles from './audit.module.css'
import type { Chain } from './chain.ts'
import { CheckList } from './check-list.tsx'
import type { Check } from './checks.ts'
import type { StatedHead } from './ledger-source.ts'
import { receiptChecks } from './receipt-checks.ts'

export interface ReceiptSectionProps {
  /** Chain in which the receipts are looked for, once it is verified. */
  readonly chain: Chain | undefined
  readonly head: StatedHead | undefined
}

/** Form that looks for pasted receipts, answers and heads in a verified chain. */
export function ReceiptSection({ chain, head }: ReceiptSectionProps) {
  const [found, setFound] = useState<{ readonly chain: Chain; readonly checks: readonly Check[] }>()
  const [error, setError] = useState<string>()
  const check = async (form: FormData) => {
    if (chain === undefined) return
    try {
      const key = String(form.get('key') ?? '').trim() || head?.publicKey
      setFound({ chain, checks: await receiptChecks(chain, await textOf(form), key) })
      setError(undefined)
    } catch (thrown) {
      setFound(undefined)
      // Anything else comes from reading the file, which may have moved.
      setError(thrown instanceof SyntaxError ? thrown.message : 'The file cannot be read.')
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
          <Button type="submit" disabled={chain === undefined}>
            Check
          </Button>
          {chain === undefined && <span>Verify the ledger first.</span>}
        </div>
      </form>
      {found !== undefined && found.chain === chain && (
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
      <Field label="Answers, receipts or heads" error={error}>
        {(attributes) => <textarea {...attributes} name="receipts" rows={6} spellCheck={false} />}
      </Field>
      <details>
        <summary>A file, or another public key</summary>
        <div className={styles.fields}>
          <Field
            label="Answer as a file"
            hint="The hash of an answer is that of its bytes. A file keeps them as they are."
          >
            {(attributes) => (
              <input {...attributes} type="file" name="file" className={styles.file} accept=".json,.jsonl" />
            )}
          </Field>
          <Field
            label="Public key (PEM)"
            hint="The key that you got over another channel. Default: the key that the service states."
          >
            {(attributes) => <textarea {...attributes} name="key" rows={4} spellCheck={false} />}
          </Field>
        </div>
      </details>
    </>
  )
}
