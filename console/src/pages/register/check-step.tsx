import { useState } from 'react'
import { type components, Problem } from 'sotto-client'
import { Link } from 'wouter'
import { bodyOf, requests } from '../../api/api.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { Facts } from '../../components/facts.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatCount } from '../../format/number.ts'
import {
  labelOf,
  type OpenRegistrationField,
  openFields,
  type Registration,
  registrationOf,
  stepOf,
} from './declaration.ts'
import { IngestionProgress, IngestionReport } from './ingestion.tsx'
import styles from './register.module.css'
import { describeSource, hrefOfStep, type StepProps } from './register-page.tsx'
import { needsSecondBudget, SecondBudgetField } from './second-budget-field.tsx'

type Tried = components['schemas']['TriedRegistration']
export type Registered = components['schemas']['RegisteredDataset']

type Attempt =
  | { readonly state: 'none' }
  | { readonly state: 'running'; readonly id: string; readonly dryRun: boolean }
  /** The dry run succeeded for this declaration, as JSON. */
  | { readonly state: 'tried'; readonly tried: Tried; readonly declared: string }
  | { readonly state: 'failed'; readonly error: unknown; readonly registration: Registration }

export interface CheckStepProps extends StepProps {
  readonly onPublished: (registered: Registered) => void
}

/** Last step: shows the declaration, tries it, and publishes the dataset. */
export function CheckStep({ form, onChange, onPublished }: CheckStepProps) {
  const [attempt, setAttempt] = useState<Attempt>({ state: 'none' })
  const registration = registrationOf(form)
  const declared = JSON.stringify(registration)
  const open = openFields(form)
  const send = async (dryRun: boolean) => {
    setAttempt({ state: 'running', id: registration.id, dryRun })
    try {
      const answer = await bodyOf(
        requests.POST('/v1/datasets', {
          body: registration,
          params: { query: { dryRun: dryRun ? 'true' : 'false' } },
        }),
      )
      if ('dryRun' in answer) setAttempt({ state: 'tried', tried: answer, declared })
      else onPublished(answer)
    } catch (error) {
      setAttempt({ state: 'failed', error, registration })
    }
  }
  const isTried = attempt.state === 'tried' && attempt.declared === declared
  const isRunning = attempt.state === 'running'
  return (
    <>
      <Summary form={form} registration={registration} />
      <Section title="Check and publish">
        <div className={styles.form}>
          {open.length > 0 && <OpenQuestions open={open} />}
          <p>
            A dry run checks the declaration and every value of the source, and publishes nothing. Publishing
            does the same, and opens the budget.
          </p>
          {isRunning && <IngestionProgress dataset={attempt.id} />}
          {attempt.state === 'failed' && <Failure {...attempt} form={form} onChange={onChange} />}
          {isTried && (
            <Notice tone="success" title="The source can be published. Nothing was published yet.">
              {attempt.tried.disclosureRisk.statement}
            </Notice>
          )}
          {isTried && <IngestionReport counts={attempt.tried.ingestion} />}
          <div className={styles.actions}>
            <Button
              busy={isRunning && attempt.dryRun}
              disabled={open.length > 0 || isRunning}
              onClick={() => send(true)}
            >
              Dry run
            </Button>
            <Button
              look="primary"
              busy={isRunning && !attempt.dryRun}
              disabled={open.length > 0 || isRunning}
              onClick={() => send(false)}
            >
              Publish
            </Button>
          </div>
        </div>
      </Section>
    </>
  )
}

function OpenQuestions({ open }: { readonly open: readonly OpenRegistrationField[] }) {
  return (
    <Notice tone="cost" title={open.length === 1 ? 'One open question' : `${open.length} open questions`}>
      <ul>
        {open.map(({ step, field, label, rule }) => (
          <li key={field}>
            <Link href={hrefOfStep(step)}>{label}</Link> {rule}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function Summary({ form, registration }: Pick<StepProps, 'form'> & { readonly registration: Registration }) {
  const { privacyUnit, columns, budget, neighbours } = registration
  const unit =
    privacyUnit.kind === 'row'
      ? 'one row is one person'
      : `at most ${formatCount(privacyUnit.maxRows, 'row')} of a person, by ${privacyUnit.column}`
  return (
    <Section title={registration.title}>
      <Facts
        facts={[
          ['Id', <code key="id">{registration.id}</code>],
          ['Source', describeSource(form)],
          ['Columns', columns === undefined ? 'all' : columns.map(({ name }) => name).join(', ')],
          ['Privacy unit', `${unit}; ${neighbours}`],
          ['Budget', formatAmount({ delta: 0, ...budget })],
        ]}
      />
      <details className={styles.declared}>
        <summary>Declaration as JSON</summary>
        <pre className={styles.json}>{JSON.stringify(registration, undefined, 2)}</pre>
      </details>
    </Section>
  )
}

interface FailureProps extends StepProps {
  readonly error: unknown
  readonly registration: Registration
}

/** Refusal of a registration, with a link to the step of each field. */
function Failure({ error, registration, form, onChange }: FailureProps) {
  const fields = error instanceof Problem ? error.errors : []
  return (
    <>
      <ProblemNotice
        error={error}
        lost="The service may still read the source. Wait a moment, and look at the list of datasets before you publish again."
      />
      {fields.length > 0 && (
        <p>
          Change{' '}
          {fields.map(({ field }, index) => (
            <span key={field}>
              {index > 0 && ', '}
              <Link href={hrefOfStep(stepOf(field))}>{labelOf(field, registration)}</Link>
            </span>
          ))}
          , then try again.
        </p>
      )}
      {(needsSecondBudget(error) || form.separateBudget !== '') && (
        <SecondBudgetField
          value={form.separateBudget}
          onChange={(separateBudget) => onChange({ separateBudget })}
        />
      )}
    </>
  )
}

/** Screen after the publication of a dataset. */
export function Published({ registered }: { readonly registered: Registered }) {
  const { id, title, ingestion, disclosureRisk } = registered
  return (
    <Section title={`${title} is published`}>
      <div className={styles.form}>
        <Notice tone="success" title={`The dataset ${id} can be queried.`}>
          {disclosureRisk.statement}
        </Notice>
        {ingestion !== undefined && <IngestionReport counts={ingestion} />}
        <div className={styles.actions}>
          <ButtonLink href="/keys">Create keys for analysts</ButtonLink>
          <ButtonLink href={`/datasets/${id}/manage`}>Manage it</ButtonLink>
          <ButtonLink href={`/datasets/${id}`} look="primary">
            Show the dataset
          </ButtonLink>
        </div>
      </div>
    </Section>
  )
}
