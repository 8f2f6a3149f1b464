import verifier from '../../../../examples/verify_export.py?url'
import { type SoundVerification, statedBalances } from '../../../../src/ledger/protocol/verifier/verifier.ts'
import { saveFile } from '../../api/save-file.ts'
import { type Attempt, useAttempt } from '../../api/use-attempt.ts'
import { ActionButton } from '../../components/forms/action-button.tsx'
import { Button } from '../../components/forms/button.tsx'
import { Field } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { Table } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import styles from './audit.module.css'
import { CheckList } from './check-list.tsx'
import { isSound, type StatedVerification } from './checks.ts'
import { ADMINISTRATION } from './event-text.ts'
import { readExport } from './ledger-source.ts'
import { ReceiptSection } from './receipt-section.tsx'
import { runVerification, type VerificationResult, type VerifiedEvents } from './verification-run.ts'
import { canDigest } from './web-crypto.ts'

/** Verification of a chain in the browser, export, and check of receipts. */
export function VerificationPanel({ dataset }: { readonly dataset: string }) {
  const { attempt, start, stop } = useAttempt<VerifiedEvents, VerificationResult>()
  const run = (file?: Blob) => start({ events: 0 }, (options) => runVerification(dataset, file, options))
  if (!canDigest())
    return (
      <>
        <Notice tone="danger" title="This page cannot compute hashes">
          Browsers compute hashes only on pages with HTTPS, or on the machine of the service. Verify an export
          elsewhere.
        </Notice>
        <Elsewhere dataset={dataset} />
      </>
    )
  const result = attempt.state === 'done' ? attempt.result : undefined
  return (
    <>
      <Section
        title="Verify here"
        lead="The browser downloads all events, recomputes every hash, and compares the result with what the service states."
      >
        <Controls attempt={attempt} onRun={run} onStop={stop} />
        {attempt.state === 'failed' && <ProblemNotice error={attempt.error} onRetry={() => run()} />}
        {result !== undefined && <Findings result={result} />}
      </Section>
      {result?.sound !== undefined && dataset !== ADMINISTRATION && (
        <Balances verification={result.sound.verification} stated={result.stated} />
      )}
      <ReceiptSection verified={result?.sound} head={result?.head} />
      <Elsewhere dataset={dataset} />
    </>
  )
}

interface ControlsProps {
  readonly attempt: Attempt<VerifiedEvents, VerificationResult>
  readonly onRun: (file?: Blob) => void
  readonly onStop: () => void
}

function Controls({ attempt, onRun, onStop }: ControlsProps) {
  if (attempt.state === 'running') {
    const { events, total } = attempt.progress
    return (
      <div className={styles.run} role="status">
        <progress
          aria-label="Verified events"
          {...(total === undefined ? {} : { value: events, max: total })}
        />
        <span>
          {events.toLocaleString('en')}
          {total === undefined ? '' : ` of ${total.toLocaleString('en')}`} events
        </span>
        <Button onClick={onStop}>Stop</Button>
      </div>
    )
  }
  return (
    <div className={styles.fields}>
      <div>
        <Button look="primary" onClick={() => onRun()}>
          Verify the ledger
        </Button>
      </div>
      <details>
        <summary>Verify an export that you have as a file</summary>
        <Field label="Export (JSON Lines)">
          {(attributes) => (
            <input
              {...attributes}
              type="file"
              className={styles.file}
              accept=".jsonl,.ndjson"
              onChange={({ target }) => {
                const file = target.files?.[0]
                if (file !== undefined) onRun(file)
              }}
            />
          )}
        </Field>
      </details>
    </div>
  )
}

function Findings({ result: { checks, head } }: { readonly result: VerificationResult }) {
  const sound = isSound(checks)
  return (
    <>
      <div className={styles.verdict}>
        <Notice
          tone={sound ? 'success' : 'danger'}
          title={sound ? 'The ledger is sound' : 'The ledger is not sound'}
        />
      </div>
      <CheckList checks={checks} />
      <details>
        <summary>Newest event, to be noted elsewhere</summary>
        <pre className={styles.head}>{JSON.stringify(head, undefined, 2)}</pre>
      </details>
    </>
  )
}

interface BalancesProps {
  readonly verification: SoundVerification
  readonly stated: StatedVerification
}

/** Amounts that were recomputed here, beside those that the service states. */
function Balances({ verification, stated }: BalancesProps) {
  const statedRows = 'cap' in stated ? stated : undefined
  const { cap, spent, analysts } = statedBalances(verification)
  const rows = [
    { name: 'Cap of the dataset', here: cap, there: statedRows?.cap },
    { name: 'Spent of the dataset', here: spent, there: statedRows?.spent },
    ...analysts.map(({ analyst, spent: here }) => ({
      name: `Spent by ${analyst}`,
      here,
      there: statedRows?.analysts.find((each) => each.analyst === analyst)?.spent,
    })),
  ]
  return (
    <Section title="Balances" lead="Recomputed from the events alone, and as the service states them.">
      <Table
        label="Balances"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          ['Balance', ({ name }) => name],
          ['Recomputed here', ({ here }) => formatAmount(here), 'right'],
          ['Stated by the service', ({ there }) => (there === undefined ? '' : formatAmount(there)), 'right'],
        ]}
      />
    </Section>
  )
}

/** Says what a verification in the browser cannot show, and offers the export with a verifier for another machine. */
function Elsewhere({ dataset }: { readonly dataset: string }) {
  return (
    <Section
      title="Verify elsewhere"
      lead="This page comes from the service that it checks: a dishonest service could send a dishonest page."
      aside={<ExportButton dataset={dataset} />}
    >
      <p>
        Take the export to another machine, and verify it with{' '}
        <a href={verifier} download="verify_export.py">
          verify_export.py
        </a>
        : one file that needs only Python and shares no code with the service. Read it before you run it, or
        take it from the source code of Sotto. <code>npx sotto ledger verify</code> recomputes the balances as
        well.
      </p>
    </Section>
  )
}

function ExportButton({ dataset }: { readonly dataset: string }) {
  const save = async () => saveFile(`${dataset.replace('@', '')}-ledger.jsonl`, await readExport(dataset))
  return <ActionButton action={save}>Download the export</ActionButton>
}
