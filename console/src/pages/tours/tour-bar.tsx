import { useLocation } from 'wouter'
import { Button, ButtonLink } from '../../components/forms/button.tsx'
import { formatExact } from '../../format/number.ts'
import { follow } from './followed.ts'
import styles from './tours.module.css'
import { TOURS } from './tours.ts'
import { useDone } from './use-done.ts'

/** Step of a tour above the page that it opened: what to look at, and the way on. */
export default function TourBar({ followed }: { readonly followed: string }) {
  const [location] = useLocation()
  const [, mark] = useDone()
  const tour = TOURS.find(({ id }) => followed.startsWith(`${id}/`))
  const place = tour?.steps.findIndex(({ id }) => followed === `${tour.id}/${id}`) ?? -1
  const step = tour?.steps[place]
  if (tour === undefined || step === undefined || location.startsWith('/tours')) return null
  const next = tour.steps[place + 1]
  return (
    <aside className={styles.bar} aria-label="Tour">
      <p>
        <strong>{step.title}.</strong> {step.look}
      </p>
      <div className={styles.actions}>
        {next === undefined ? (
          <ButtonLink href={`/tours/${tour.id}`} look="primary">
            Finish the tour
          </ButtonLink>
        ) : (
          <ButtonLink
            href={next.link.href}
            look="primary"
            onClick={() => {
              mark(tour.id, next.id, true)
              follow(tour.id, next.id)
            }}
          >
            Next step
          </ButtonLink>
        )}
        <ButtonLink href={`/tours/${tour.id}`} look="quiet">
          {tour.title}, step {formatExact(place + 1)} of {formatExact(tour.steps.length)}
        </ButtonLink>
        <Button look="quiet" onClick={() => follow(tour.id, undefined)}>
          Leave the tour
        </Button>
      </div>
    </aside>
  )
}
