import { Link } from 'wouter'
import cards from '../../components/layout/cards.module.css'
import { Page } from '../../components/layout/page.tsx'
import { Pill } from '../../components/tables/tables.tsx'
import { formatExact } from '../../format/number.ts'
import { DemoNotice } from './demo-notice.tsx'
import { doneOf } from './done.ts'
import { TOURS } from './tours.ts'
import { useDone } from './use-done.ts'

/** Page that lists the guided tours. */
export default function ToursPage() {
  const [done] = useDone()
  return (
    <Page
      title="Tours"
      lead="Guided tours on a made-up census. Each step opens a page with everything filled in and says what to look at. Only the questions are charged."
    >
      <DemoNotice />
      <ol className={cards.list}>
        {TOURS.map((tour) => {
          const finished = doneOf(done, tour)
          const steps = tour.steps.length
          return (
            <li key={tour.id} className={cards.card}>
              <h2>
                <Link href={`/tours/${tour.id}`}>{tour.title}</Link>
              </h2>
              <p>{tour.aim}</p>
              <div>
                <Pill tone={finished === steps ? 'success' : finished > 0 ? 'accent' : 'plain'}>
                  {formatExact(finished)} of {formatExact(steps)} steps done
                </Pill>
              </div>
            </li>
          )
        })}
      </ol>
    </Page>
  )
}
