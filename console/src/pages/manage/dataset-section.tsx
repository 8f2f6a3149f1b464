import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { at, queryClient, refreshAll, requests } from '../../api/api.ts'
import { Button } from '../../components/forms/button.tsx'
import { TextAreaField, TextField } from '../../components/forms/fields.tsx'
import { FormDialog } from '../../components/layout/dialog.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Notice } from '../../components/notices/notices.tsx'
import { Facts } from '../../components/tables/tables.tsx'
import type { DatasetPart } from '../datasets/dataset.ts'
import { publicFactsOf } from '../datasets/public-facts.ts'
import styles from './manage.module.css'

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
      <Facts facts={publicFactsOf(dataset)} />
      {opened === 'texts' && <TextsDialog dataset={dataset} onClose={close} />}
      {opened === 'withdraw' && <WithdrawDialog dataset={dataset} onClose={close} />}
    </Section>
  )
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
      <TextField label="Title" value={title} maxLength={200} onChange={setTitle} />
      <TextAreaField
        label="Description"
        hint="What the rows mean, where they come from, and their known faults."
        rows={5}
        value={description}
        maxLength={4000}
        onChange={setDescription}
      />
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
      onSubmit={() => requests.DELETE('/v1/datasets/{dataset}', at({ dataset: id }))}
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
        <TextField
          label={`Type ${id} to confirm`}
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={setTyped}
        />
      </div>
    </FormDialog>
  )
}
