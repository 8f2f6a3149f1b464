import { useParams } from 'wouter'
import { useMe } from '../../api/api.ts'
import { Button, ButtonLink } from '../../components/forms/button.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Pill } from '../../components/tables/tables.tsx'
import { NotFoundPage } from '../not-found-page.tsx'
import { DemoNotice } from './demo-notice.tsx'
import { doneOf } from './done.ts'
import { follow } from './followed.ts'
import styles from './tours.module.css'
import { TOURS, type TourStep } from './tours.ts'
import { useDone } from './use-done.ts'

/** Page of one tour: its steps, and which of them are done. */
export default function TourPage() {
  const { tour: id } = useParams<{ tour: string }>()
  const [done, mark] = useDone()
  const place = TOURS.findIndex((each) => each.id === id)
  const tour = TOURS[place]
  if (tour === undefined) return <NotFoundPage />
  const next = TOURS[place + 1]
  const isDone = (step: TourStep) => done.has(`${tour.id}/${step.id}`)
  const current = tour.steps.find((step) => !isDone(step))
  return (
    <Page title={tour.title} path={[{ title: 'Tours', href: '/tours' }]} lead={tour.aim}>
      <DemoNotice />
      <ol className={styles.steps}>
        {tour.steps.map((step) => (
          <Step
            key={step.id}
            step={step}
            isDone={isDone(step)}
            isCurrent={step === current}
            onMark={(value) => mark(tour.id, step.id, value)}
            onFollow={() => {
              mark(tour.id, step.id, true)
              follow(tour.id, step.id)
            }}
          />
        ))}
      </ol>
      {doneOf(done, tour) === tour.steps.length && (
        <div className={styles.end} role="status">
          <strong>All steps are done.</strong>
          {next !== undefined && <ButtonLink href={`/tours/${next.id}`}>Next tour: {next.title}</ButtonLink>}
        </div>
      )}
    </Page>
  )
}

interface StepProps {
  readonly step: TourStep
  readonly isDone: boolean
  readonly isCurrent: boolean
  readonly onMark: (isDone: boolean) => void
  readonly onFollow: () => void
}

function Step({ step: { title, look, link, paid = false }, isDone, isCurrent, onMark, onFollow }: StepProps) {
  const role = useMe()?.role
  return (
    <li className={styles.step} data-done={isDone} aria-current={isCurrent ? 'step' : undefined}>
      <div className={styles.text}>
        <h2>
          {title} {isDone && <Pill tone="success">done</Pill>}
          {paid && <Pill tone="cost">{role === 'analyst' ? 'costs budget' : 'needs an analyst’s key'}</Pill>}
        </h2>
        <p>{look}</p>
        <div className={styles.actions}>
          <ButtonLink href={link.href} look={isCurrent ? 'primary' : 'plain'} onClick={onFollow}>
            {link.title}
          </ButtonLink>
          <Button look="quiet" onClick={() => onMark(!isDone)}>
            {isDone ? 'Mark as not done' : 'Mark as done'}
          </Button>
        </div>
      </div>
    </li>
  )
}
