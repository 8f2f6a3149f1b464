import { useMutation } from '@tanstack/react-query'
import { Problem } from 'sotto-client'
import { Link } from 'wouter'
import { bodyOf, requests } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import { ButtonLink } from '../../components/forms/button.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { Facts } from '../../components/tables/tables.tsx'
import { formatAmount } from '../../format/amount.ts'
import { formatCount, formatExact } from '../../format/number.ts'
import { needsSecondBudget, SecondBudgetField } from './budget/second-budget-field.tsx'
import {
  labelOf,
  type OpenRegistrationField,
  openFields,
  type Registration,
  registrationOf,
  stepOf,
} from './declaration.ts'
import { IngestionProgress, IngestionReport, PublishButtons } from './ingestion.tsx'
import styles from './register.module.css'
import { describeSource, hrefOfStep, type StepProps } from './step.ts'

export type Registered = Schemas['RegisteredDataset']

export interface CheckStepProps extends StepProps {
  readonly onPublished: (registered: Registered) => void
}

/** Last step: shows the declaration, tries it, and publishes the dataset. */
export function CheckStep({ form, onChange, onPublished }: CheckStepProps) {
  const registration = registrationOf(form)
  const declared = JSON.stringify(registration)
  const open = openFields(form)
  const attempt = useMutation({
    mutationFn: ({ body, dryRun }: { readonly body: Registration; readonly dryRun: boolean }) =>
      bodyOf(
        requests.POST('/v1/datasets', { body, params: { query: { dryRun: dryRun ? 'true' : 'false' } } }),
      ),
    onSuccess: (answer) => {
      if (!('dryRun' in answer)) onPublished(answer)
    },
  })
  const send = (dryRun: boolean) => attempt.mutate({ body: registration, dryRun })
  const { data, variables, isPending } = attempt
  // A dry run tells about the declaration for which it was made.
  const tried =
    data !== undefined && 'dryRun' in data && JSON.stringify(variables?.body) === declared ? data : undefined
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
          {isPending && <IngestionProgress dataset={variables?.body.id ?? ''} />}
          {attempt.isError && (
            <Failure
              error={attempt.error}
              registration={attempt.variables.body}
              form={form}
              onChange={onChange}
            />
          )}
          {tried !== undefined && (
            <>
              <Notice tone="success" title="The source can be published. Nothing was published yet." />
              <p>{tried.disclosureRisk.statement}</p>
              {tried.leftOut !== undefined && tried.leftOut.epsilon > 0 && (
                <p>
                  Publishing charges an epsilon of {formatExact(tried.leftOut.epsilon)} to the budget, which
                  measures the share of rows beyond the most of a person.
                </p>
              )}
              <IngestionReport counts={tried.ingestion} />
            </>
          )}
          <div className={styles.actions}>
            <PublishButtons
              action="Publish"
              running={isPending ? variables?.dryRun : undefined}
              isReady={open.length === 0}
              onSend={send}
            />
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
  const { id, title, coverageStatement, ingestion, disclosureRisk } = registered
  return (
    <Section title={`${title} is published`}>
      <div className={styles.form}>
        <Notice tone="success" title={`The dataset ${id} can be queried.`} />
        <p>{disclosureRisk.statement}</p>
        {coverageStatement !== undefined && <p>{coverageStatement}</p>}
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
