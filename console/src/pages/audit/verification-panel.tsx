import { useEffect, useRef, useState } from 'react'
import { saveFile } from '../../api/save-file.ts'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { Table } from '../../components/table.tsx'
import { formatAmount } from '../../format/amount.ts'
import styles from './audit.module.css'
import { ADMINISTRATION, type Chain } from './chain.ts'
import { CheckList } from './check-list.tsx'
import { isSound, type StatedVerification } from './checks.ts'
import { canDigest } from './digest.ts'
import { openExport } from './ledger-source.ts'
import { ReceiptSection } from './receipt-section.tsx'
import { amountOf } from './units.ts'
import { runVerification, type VerificationResult } from './verification-run.ts'

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly events: number; readonly total?: number }
  | { readonly kind: 'done'; readonly result: VerificationResult }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Verification of a chain in the browser, export, and check of receipts. */
export function VerificationPanel({ dataset }: { readonly dataset: string }) {
  const [state, setState] = useState<State>({ kind: 'idle' })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const run = async (file?: Blob) => {
    const controller = new AbortController()
    running.current = controller
    setState({ kind: 'running', events: 0 })
    try {
      const result = await runVerification(dataset, {
        ...(file === undefined ? {} : { file }),
        signal: controller.signal,
        onProgress: (events, total) =>
          setState({ kind: 'running', events, ...(total === undefined ? {} : { total }) }),
      })
      setState({ kind: 'done', result })
    } catch (error) {
      setState(controller.signal.aborted ? { kind: 'idle' } : { kind: 'failed', error })
    }
  }
  if (!canDigest())
    return (
      <Notice tone="danger" title="This page cannot compute hashes">
        Browsers compute hashes only on pages with HTTPS, or on the machine of the service. Export the ledger,
        and verify it with <code>npx sotto ledger verify</code>.
      </Notice>
    )
  const result = state.kind === 'done' ? state.result : undefined
  return (
    <>
      <Section
        title="Verify here"
        lead="The browser downloads all events, recomputes every hash, and compares the result with what the service states."
        aside={<ExportButton dataset={dataset} />}
      >
        <Controls state={state} onRun={run} onStop={() => running.current?.abort()} />
        {state.kind === 'failed' && <ProblemNotice error={state.error} onRetry={() => run()} />}
        {result !== undefined && <Findings result={result} />}
      </Section>
      {result?.chain !== undefined && dataset !== ADMINISTRATION && (
        <Balances chain={result.chain} stated={result.stated} />
      )}
      <ReceiptSection chain={result?.chain} head={result?.head} />
    </>
  )
}

interface ControlsProps {
  readonly state: State
  readonly onRun: (file?: Blob) => void
  readonly onStop: () => void
}

function Controls({ state, onRun, onStop }: ControlsProps) {
  if (state.kind === 'running')
    return (
      <div className={styles.run} role="status">
        <progress
          aria-label="Verified events"
          {...(state.total === undefined ? {} : { value: state.events, max: state.total })}
        />
        <span>
          {state.events.toLocaleString('en')}
          {state.total === undefined ? '' : ` of ${state.total.toLocaleString('en')}`} events
        </span>
        <Button onClick={onStop}>Stop</Button>
      </div>
    )
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
  readonly chain: Chain
  readonly stated: StatedVerification
}

/** Amounts that were recomputed here, beside those that the service states. */
function Balances({ chain, stated }: BalancesProps) {
  const statedRows = stated.sound ? stated : undefined
  const rows = [
    { name: 'Cap of the dataset', here: chain.cap, there: statedRows?.cap },
    { name: 'Spent of the dataset', here: chain.spent, there: statedRows?.spent },
    ...[...chain.analysts].map(([analyst, here]) => ({
      name: `Spent by ${analyst}`,
      here,
      there: statedRows?.analysts?.find((each) => each.analyst === analyst)?.spent,
    })),
  ]
  return (
    <Section title="Balances" lead="Recomputed from the events alone, and as the service states them.">
      <Table
        label="Balances"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Balance', cell: ({ name }) => name },
          {
            title: 'Recomputed here',
            align: 'right',
            cell: ({ here, there }) =>
              Object.keys(here).length === 0 && there !== undefined
                ? formatAmount('rho' in there ? { rho: 0 } : { epsilon: 0, delta: 0 })
                : formatAmount(amountOf(here)),
          },
          {
            title: 'Stated by the service',
            align: 'right',
            cell: ({ there }) => (there === undefined ? '' : formatAmount(there)),
          },
        ]}
      />
    </Section>
  )
}

/** Saves the export as a file. */
function ExportButton({ dataset }: { readonly dataset: string }) {
  const [state, setState] = useState<{ readonly busy: boolean; readonly error?: unknown }>({ busy: false })
  const save = async () => {
    setState({ busy: true })
    try {
      saveFile(`${dataset.replace('@', '')}-ledger.jsonl`, await (await openExport(dataset)).blob())
      setState({ busy: false })
    } catch (error) {
      setState({ busy: false, error })
    }
  }
  return (
    <>
      <Button onClick={save} busy={state.busy}>
        Download the export
      </Button>
      {state.error !== undefined && <ProblemNotice error={state.error} onRetry={save} />}
    </>
  )
}
