import { type ComponentType, useCallback, useEffect, useState } from 'react'
import { Link, Redirect, useLocation, useParams } from 'wouter'
import { at, refreshAll, requests } from '../../api/api.ts'
import { Button, ButtonLink } from '../../components/forms/button.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { BudgetStep } from './budget/budget-step.tsx'
import { CheckStep, type CheckStepProps, Published, type Registered } from './check-step.tsx'
import { ColumnsStep } from './columns/columns-step.tsx'
import {
  formOfDraft,
  formOfMadeUpPeople,
  openFields,
  type RegistrationForm,
  STEPS,
  type Step,
  stepsOf,
} from './declaration.ts'
import { RunningIngestions } from './ingestion.tsx'
import { JoinsStep } from './joins-step.tsx'
import { PeopleStep } from './people-step.tsx'
import styles from './register.module.css'
import { SourcePicker } from './source/source-picker.tsx'
import { describeSource, type FormChanges, hrefOfStep } from './step.ts'

const TITLES: Readonly<Record<Step, string>> = {
  source: 'Source',
  joins: 'Joins',
  columns: 'Columns',
  people: 'People',
  budget: 'Budget',
  check: 'Check and publish',
}

/** Contents of the steps, apart from the first. */
const CONTENTS: Readonly<Record<Exclude<Step, 'source'>, ComponentType<CheckStepProps>>> = {
  joins: JoinsStep,
  columns: ColumnsStep,
  people: PeopleStep,
  budget: BudgetStep,
  check: CheckStep,
}

/** Wizard that registers a dataset. What was entered stays in the tab until it is published. */
export default function RegisterPage() {
  const { step: asked = 'source' } = useParams<{ step?: string }>()
  const [, navigate] = useLocation()
  const [form, setForm] = useStoredForm()
  const [registered, setRegistered] = useState<Registered>()
  const step = STEPS.find((each) => each === asked)
  // It never changes, so that a column is drawn again only if it has changed.
  const change = useCallback(
    (changes: FormChanges) =>
      setForm(
        (present) =>
          present && { ...present, ...(typeof changes === 'function' ? changes(present) : changes) },
      ),
    [setForm],
  )
  const startAgain = () => {
    setForm(undefined)
    setRegistered(undefined)
    navigate('/register')
  }
  const publish = (published: Registered) => {
    setRegistered(published)
    setForm(undefined)
    void refreshAll()
    // The rows are stored. An upload that is already gone needs no deletion.
    for (const upload of uploadsOf(form))
      requests.DELETE('/v1/sources/{source}', at({ source: upload })).catch(() => undefined)
  }
  if (step === 'check' && registered !== undefined)
    return (
      <Page title="Register data" actions={<Button onClick={startAgain}>Register another</Button>}>
        <Published registered={registered} />
      </Page>
    )
  if (step === undefined || (form === undefined && step !== 'source'))
    return <Redirect to="/register" replace />
  const Contents = step === 'source' ? undefined : CONTENTS[step]
  return (
    <Page
      title="Register data"
      lead="Everything that you declare is public. Answer from what you know about how the data come about, not from the data."
      actions={form !== undefined && <Button onClick={startAgain}>Start again</Button>}
    >
      <Steps current={step} form={form} />
      {step === 'source' && (
        <SourceStep
          form={form}
          onForm={(next) => {
            setForm(next)
            navigate(hrefOfStep(stepsOf(next)[1] ?? 'columns'))
          }}
        />
      )}
      {form !== undefined && Contents !== undefined && (
        <>
          <Contents form={form} onChange={change} onPublished={publish} />
          <Between step={step} steps={stepsOf(form)} />
        </>
      )}
    </Page>
  )
}

interface SourceStepProps {
  readonly form: RegistrationForm | undefined
  /** Takes the form of a source that was chosen. */
  readonly onForm: (form: RegistrationForm) => void
}

function SourceStep({ form, onForm }: SourceStepProps) {
  return (
    <Section title="Source">
      {form !== undefined && (
        <p className={styles.chosen}>
          Chosen: <code>{describeSource(form)}</code>. Another source replaces the whole declaration.
        </p>
      )}
      <RunningIngestions />
      <SourcePicker
        action="Continue"
        onPicked={(picked) =>
          onForm(
            picked.kind === 'drafted'
              ? formOfDraft(picked.draft, picked.fileName)
              : formOfMadeUpPeople(picked.source),
          )
        }
      />
    </Section>
  )
}

function Steps({ current, form }: { readonly current: Step; readonly form: RegistrationForm | undefined }) {
  const open = form === undefined ? [] : openFields(form)
  return (
    <nav aria-label="Steps">
      <ol className={styles.steps}>
        {stepsOf(form).map((step, index) => {
          const left = open.filter((field) => field.step === step).length
          const title = `${index + 1}. ${TITLES[step]}`
          return (
            <li key={step} data-done={form !== undefined && left === 0 && step !== 'check'}>
              {form === undefined && step !== 'source' ? (
                <span>{title}</span>
              ) : (
                <Link href={hrefOfStep(step)} aria-current={step === current ? 'step' : undefined}>
                  {title}
                  {left > 0 && <small>{left} open</small>}
                </Link>
              )}
            </li>
          )
        })}
      </ol>
    </nav>
  )
}

function Between({ step, steps }: { readonly step: Step; readonly steps: readonly Step[] }) {
  const index = steps.indexOf(step)
  const before = steps[index - 1]
  const after = steps[index + 1]
  return (
    <div className={styles.between}>
      {before !== undefined && <ButtonLink href={hrefOfStep(before)}>Back</ButtonLink>}
      {after !== undefined && (
        <ButtonLink href={hrefOfStep(after)} look="primary">
          Continue: {TITLES[after]}
        </ButtonLink>
      )}
    </div>
  )
}

/** Returns the uploads that are a source, or tables of it. */
function uploadsOf(form: RegistrationForm | undefined): readonly string[] {
  if (form === undefined) return []
  const tables = form.source.kind === 'joined' ? Object.values(form.source.tables) : [form.source]
  return tables.flatMap((table) => (table.kind === 'upload' ? [table.upload] : []))
}

/** Key under which the tab stores what was entered. A declaration has no values of the data. */
const STORED = 'sotto.registration'

function useStoredForm() {
  const [form, setForm] = useState(storedForm)
  useEffect(() => {
    if (form === undefined) sessionStorage.removeItem(STORED)
    else
      try {
        sessionStorage.setItem(STORED, JSON.stringify(form))
      } catch {
        // Lists of categories may exceed what a browser stores. Then a reload begins again.
        sessionStorage.removeItem(STORED)
      }
  }, [form])
  return [form, setForm] as const
}

function storedForm(): RegistrationForm | undefined {
  const stored = sessionStorage.getItem(STORED)
  return stored === null ? undefined : JSON.parse(stored)
}
