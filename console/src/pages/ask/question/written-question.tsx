import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { bodyOf, requests } from '../../../api/api.ts'
import { Button } from '../../../components/forms/button.tsx'
import { TextAreaField } from '../../../components/forms/fields.tsx'
import { Notice, ProblemNotice } from '../../../components/notices/notices.tsx'
import { sqlOf } from '../../answers/code/question-as-sql.ts'
import type { AskedDataset } from '../../datasets/dataset.ts'
import styles from '../ask.module.css'
import { withFittingContribution } from '../terms/contribution.ts'
import { ContributionField } from '../terms/contribution-field.tsx'
import { OptionsField } from '../terms/options-field.tsx'
import {
  type BatchTerms,
  priceOf,
  type Question,
  termsOf,
  type WrittenQuestionPart,
  withPrice,
} from './question.ts'
import { readQuestion } from './read-question.ts'

/** True if a statement means several queries, of which the form shows one. */
function isBatch(query: object): boolean {
  return 'queries' in query
}

/** The question as a SELECT statement, and what is stated beside it. The service translates it to the question. */
export function QuestionSql({ dataset, question, onChange, onPending }: WrittenQuestionPart) {
  const statement = useStatement(question, dataset, onPending)
  const translation = useMutation({
    mutationFn: (sql: string) =>
      bodyOf(
        requests.POST('/v1/datasets/{dataset}/sql/preview', {
          params: { path: { dataset: dataset.id } },
          body: { sql, ...termsOf(question) },
        }),
      ),
    onSuccess: ({ query }) => {
      if (isBatch(query)) return
      const next = withPrice(query as Question, priceOf(question))
      statement.settle(next)
      onChange(next)
      onPending(false)
    },
  })
  const change = (next: Question) => onChange(withFittingContribution(next, dataset))
  const part = { dataset, question, onChange: change }
  return (
    <div className={styles.form}>
      {statement.written === undefined && (
        <Notice>The question in the form cannot be written as SQL. A statement replaces it.</Notice>
      )}
      <TextAreaField
        label="SELECT statement"
        hint="PostgreSQL's grammar. The text never reaches a database: it is translated to a question, which is then priced."
        className={styles.text}
        spellCheck={false}
        readOnly={translation.isPending}
        value={statement.text}
        onChange={(typed) => {
          statement.type(typed)
          translation.reset()
        }}
      />
      <div>
        <Button busy={translation.isPending} onClick={() => translation.mutate(statement.text)}>
          Translate
        </Button>
      </div>
      {translation.error !== null && <ProblemNotice error={translation.error} />}
      {translation.data !== undefined && isBatch(translation.data.query) && (
        <Notice tone="danger" title="Several queries">
          The statement means several queries, and the form shows one. Send each aggregate in a statement of
          its own.
        </Notice>
      )}
      {translation.data !== undefined && !isBatch(translation.data.query) && (
        <Notice tone="success" title="Translated">
          {translation.data.notes.length === 0
            ? 'The price beside is that of the statement.'
            : translation.data.notes.join(' ')}
        </Notice>
      )}
      <ContributionField {...part} />
      <OptionsField {...part} />
    </div>
  )
}

/** Text of a statement. It follows the question, but a text that was translated to the question stays as it was typed. */
function useStatement(question: Question, dataset: AskedDataset, onPending: (isPending: boolean) => void) {
  const written = statementOf(question, dataset)
  const [text, setText] = useState(written ?? `SELECT COUNT(*) FROM "${dataset.id}"`)
  const known = useRef(written)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another question changes the text
  useEffect(() => {
    if (written === known.current) return
    known.current = written
    if (written === undefined) return
    setText(written)
    onPending(false)
  }, [written])
  return {
    written,
    text,
    type: (typed: string) => {
      setText(typed)
      onPending(true)
    },
    settle: (translated: Question) => {
      known.current = statementOf(translated, dataset)
    },
  }
}

function statementOf(question: Question, { id, privacyUnit }: AskedDataset): string | undefined {
  return sqlOf(question, id, privacyUnit.kind === 'person' ? privacyUnit.column : undefined)
}

interface QuestionJsonProps extends WrittenQuestionPart {
  /** Called with the questions of a batch. */
  readonly onBatch: (queries: readonly Question[], terms: BatchTerms) => void
}

/** The question as the JSON that the service reads. */
export function QuestionJson({ question, onChange, onBatch, onPending }: QuestionJsonProps) {
  const shown = JSON.stringify(question, undefined, 2)
  const [text, setText] = useState(shown)
  const read = readQuestion(text)
  // The text follows the question, but a text that means the question stays as it was typed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another question changes the text
  useEffect(() => {
    if ('question' in read && JSON.stringify(read.question, undefined, 2) === shown) return
    setText(shown)
    onPending(false)
  }, [shown])
  return (
    <TextAreaField
      label="Question as JSON"
      hint="The body of POST /v1/datasets/{dataset}/queries."
      error={'error' in read ? read.error : undefined}
      className={styles.text}
      spellCheck={false}
      value={text}
      onChange={(typed) => {
        setText(typed)
        const next = readQuestion(typed)
        onPending('error' in next)
        if ('question' in next) onChange(next.question)
        if ('queries' in next) onBatch(next.queries, next.terms)
      }}
    />
  )
}
