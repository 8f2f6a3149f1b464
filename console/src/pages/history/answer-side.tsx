import { Link } from 'wouter'
import { api } from '../../api/api.ts'
import { DateTime } from '../../components/date-time.tsx'
import { Section } from '../../components/section.tsx'
import { formatAmount } from '../../format/amount.ts'
import { answerText, type StoredDocument } from '../answers/answer-text.ts'
import { type Question, questionText } from '../answers/question-text.ts'
import styles from './history.module.css'

/** Loads a stored answer. */
export function useRelease(id: string) {
  return api.useQuery('get', '/v1/releases/{id}', { params: { path: { id } } })
}

/** One of two answers: its question, its values and its price. */
export function AnswerSide({
  title,
  document,
}: {
  readonly title: string
  readonly document: StoredDocument
}) {
  const question = document.question as Question | undefined
  return (
    <Section title={title}>
      <p>
        <Link href={`/history/${document.id}`}>
          {question === undefined ? document.id : questionText(question)}
        </Link>
      </p>
      <p className={styles.figure}>{answerText(document)}</p>
      <p className={styles.quiet}>
        {document.dataset}, version {document.datasetVersion}
        {document.answeredAt !== undefined && (
          <>
            , <DateTime value={document.answeredAt} /> UTC
          </>
        )}
        , {formatAmount(document.cost)}
      </p>
    </Section>
  )
}
