import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { sqlOf } from '../answers/question-as-sql.ts'
import styles from './ask.module.css'
import { priceOf, type Question, withPrice } from './question.ts'
import type { WrittenQuestionPart } from './question-form.tsx'

/** The question as a SELECT statement. The service translates it to the question. */
export function QuestionSql({ dataset, question, onChange, onPending }: WrittenQuestionPart) {
  const written = sqlOf(question, dataset.id)
  const [text, setText] = useState(written ?? `SELECT COUNT(*) FROM "${dataset.id}"`)
  const translation = useMutation({
    mutationFn: async (statement: string) => {
      const price = priceOf(question)
      const terms = price.by === 'epsilon' ? { epsilon: price.epsilon } : { halfWidth: price.halfWidth }
      return client.dataset(dataset.id).previewSql(statement, terms)
    },
    onSuccess: ({ query }) => {
      onChange(withPrice(query as unknown as Question, priceOf(question)))
      onPending(false)
    },
  })
  return (
    <div className={styles.form}>
      {written === undefined && (
        <Notice>The question in the form cannot be written as SQL. A statement replaces it.</Notice>
      )}
      <Field
        label="SELECT statement"
        hint="PostgreSQL's grammar. The text never reaches a database: it is translated to a question, which is then priced."
      >
        {(attributes) => (
          <textarea
            {...attributes}
            className={styles.text}
            spellCheck={false}
            readOnly={translation.isPending}
            value={text}
            onChange={(event) => {
              setText(event.target.value)
              translation.reset()
              onPending(true)
            }}
          />
        )}
      </Field>
      <div>
        <Button busy={translation.isPending} onClick={() => translation.mutate(text)}>
          Translate
        </Button>
      </div>
      {translation.error !== null && <ProblemNotice error={translation.error} />}
      {translation.data !== undefined && (
        <Notice tone="success" title="Translated">
          {translation.data.notes.length === 0
            ? 'The price beside is that of the statement.'
            : translation.data.notes.join(' ')}
        </Notice>
      )}
    </div>
  )
}
