import { useEffect, useState } from 'react'
import { Field } from '../../components/field.tsx'
import styles from './ask.module.css'
import { readQuestion } from './question.ts'
import type { WrittenQuestionPart } from './question-form.tsx'

/** The question as the JSON that the service reads. */
export function QuestionJson({ question, onChange, onPending }: WrittenQuestionPart) {
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
    <Field
      label="Question as JSON"
      hint="The body of POST /v1/datasets/{dataset}/queries."
      error={'error' in read ? read.error : undefined}
    >
      {(attributes) => (
        <textarea
          {...attributes}
          className={styles.text}
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            const next = readQuestion(event.target.value)
            onPending('error' in next)
            if ('question' in next) onChange(next.question)
          }}
        />
      )}
    </Field>
  )
}
