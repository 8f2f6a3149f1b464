import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { queryClient, requests } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { FormDialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { Section } from '../../components/section.tsx'
import { formatExact } from '../../format/number.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import type { DatasetPart } from '../datasets/dataset-page.tsx'
import styles from './manage.module.css'
import { refreshAll } from './refresh.ts'

/** Texts and declared limits of a dataset, and its withdrawal. */
export function DatasetSection({ dataset }: DatasetPart) {
  const [opened, open] = useState<'none' | 'texts' | 'withdraw'>('none')
  const close = () => open('none')
  return (
    <Section
      title="Declaration"
      lead={
        <>
          Limits and release times are part of the declaration. To change them,{' '}
          <Link href="/register">register the rows again</Link>: the columns step copies this declaration.
          Withdraw the dataset before you publish. The budget and what is spent stay.
        </>
      }
      aside={
        <div className={styles.buttons}>
          <Button onClick={() => open('texts')}>Change the texts</Button>
          <Button look="danger" onClick={() => open('withdraw')}>
            Withdraw
          </Button>
        </div>
      }
    >
      <Facts facts={limitFacts(dataset)} />
      {opened === 'texts' && <TextsDialog dataset={dataset} onClose={close} />}
      {opened === 'withdraw' && <WithdrawDialog dataset={dataset} onClose={close} />}
    </Section>
  )
}

function limitFacts({ queryLimits, timing, failureLimit, accounting, sharing }: Dataset) {
  const { minEpsilon, maxEpsilon, minHalfWidth } = queryLimits
  const shown = (value: number | undefined) => (value === undefined ? 'no limit' : formatExact(value))
  return [
    ['Least epsilon of a question', shown(minEpsilon)],
    ['Largest epsilon of a question', shown(maxEpsilon)],
    ['Least half-width', shown(minHalfWidth)],
    ['Release of answers', describeTiming(timing)],
    ['Failures that suspend it', formatExact(failureLimit)],
    ['Accounting', accounting === 'zcdp' ? 'zCDP' : 'basic'],
    ['Shared answers', sharing ? 'yes' : 'no'],
  ] as const
}

function describeTiming(timing: Dataset['timing']): string {
  if (timing === 'off') return 'at once'
  return 'slotMs' in timing
    ? `at the end of slots of ${formatExact(timing.slotMs)} ms`
    : `exactly after ${formatExact(timing.deadlineMs)} ms`
}

interface DialogProps extends DatasetPart {
  readonly onClose: () => void
}

function TextsDialog({ dataset, onClose }: DialogProps) {
  const [title, setTitle] = useState(dataset.title)
  const [description, setDescription] = useState(dataset.description ?? '')
  const change = () =>
    requests.PATCH('/v1/datasets/{dataset}', {
      params: { path: { dataset: dataset.id } },
      body: { title: title.trim(), description: description.trim() === '' ? null : description.trim() },
    })
  return (
    <FormDialog
      title="Change the texts"
      action="Save"
      ready={title.trim() !== ''}
      onSubmit={change}
      onDone={refreshAll}
      onClose={onClose}
    >
      <Field label="Title">
        {(attributes) => (
          <input
            {...attributes}
            value={title}
            maxLength={200}
            onChange={(event) => setTitle(event.target.value)}
          />
        )}
      </Field>
      <Field label="Description" hint="What the rows mean, where they come from, and their known faults.">
        {(attributes) => (
          <textarea
            {...attributes}
            rows={5}
            value={description}
            maxLength={4000}
            onChange={(event) => setDescription(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  )
}

function WithdrawDialog({ dataset: { id, title }, onClose }: DialogProps) {
  const [typed, setTyped] = useState('')
  const [, navigate] = useLocation()
  return (
    <FormDialog
      title={`Withdraw ${title}?`}
      action="Withdraw the dataset"
      look="danger"
      ready={typed === id}
      onSubmit={() => requests.DELETE('/v1/datasets/{dataset}', { params: { path: { dataset: id } } })}
      onDone={() => {
        // What this page shows must not be asked for again: it does not exist any more.
        void queryClient.invalidateQueries({ refetchType: 'none' })
        navigate('/datasets')
      }}
      onClose={onClose}
    >
      <div className={styles.form}>
        <Notice tone="cost">
          The stored rows are deleted. The budget and its ledger stay: a dataset that is registered again
          under this id continues with the same budget.
        </Notice>
        <Field label={`Type ${id} to confirm`}>
          {(attributes) => (
            <input
              {...attributes}
              value={typed}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
      </div>
    </FormDialog>
  )
}
