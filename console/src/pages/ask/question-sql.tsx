import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { bodyOf, requests } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { Field } from '../../components/field.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { sqlOf } from '../answers/question-as-sql.ts'
import type { Dataset } from '../datasets/dataset-kind.ts'
import styles from './ask.module.css'
import { withFittingContribution } from './contribution.ts'
import { ContributionField } from './contribution-field.tsx'
import { OptionsField } from './options-field.tsx'
import { priceOf, type Question, termsOf, withPrice } from './question.ts'
import type { WrittenQuestionPart } from './question-form.tsx'

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
      const next = withPrice(query as unknown as Question, priceOf(question))
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
            value={statement.text}
            onChange={(event) => {
              statement.type(event.target.value)
              translation.reset()
            }}
          />
        )}
      </Field>
      <div>
        <Button busy={translation.isPending} onClick={() => translation.mutate(statement.text)}>
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
      <ContributionField {...part} />
      <OptionsField {...part} />
    </div>
  )
}

/** Text of a statement. It follows the question, but a text that was translated to the question stays as it was typed. */
function useStatement(question: Question, dataset: Dataset, onPending: (isPending: boolean) => void) {
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

function statementOf(question: Question, { id, privacyUnit }: Dataset): string | undefined {
  return sqlOf(question, id, privacyUnit.kind === 'person' ? privacyUnit.column : undefined)
}
