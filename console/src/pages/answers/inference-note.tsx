import { Link } from 'wouter'
import { api, at } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'
import styles from './answers.module.css'
import { type AskedQuestion, questionText } from './question-text.ts'

/** Most answers that are named. */
const MOST_PARENTS = 5

interface InferenceNoteProps {
  readonly inference: NonNullable<Schemas['Answer']['inference']>
}

/** Says from which answers an answer follows, with links to them. */
export function InferenceNote({ inference: { statement, releases } }: InferenceNoteProps) {
  const ids = [...new Set(releases.map(({ id }) => id))]
  const parents = ids.filter((id) => id !== 'this')
  const more = parents.length - MOST_PARENTS
  return (
    <div className={styles.coverage}>
      <p>
        {statement}
        {ids.length > parents.length && ' What they lacked was measured for this answer.'}
      </p>
      <ul aria-label="Answers that it follows from">
        {parents.slice(0, MOST_PARENTS).map((id) => (
          <li key={id}>
            <ParentLink id={id} />
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </div>
  )
}

function ParentLink({ id }: { readonly id: string }) {
  const { data } = api.useQuery('get', '/v1/releases/{id}', at({ id }))
  const question = data?.question as AskedQuestion | undefined
  return (
    <Link href={`/history/${id}`}>{question === undefined ? id.slice(0, 8) : questionText(question)}</Link>
  )
}
