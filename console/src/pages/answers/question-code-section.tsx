import { Code } from '../../components/code.tsx'
import styles from './answers.module.css'
import { sqlOf } from './question-as-sql.ts'
import { curlOf, pythonOf, type Target, typescriptOf } from './question-code.ts'
import type { Question } from './question-text.ts'

export interface QuestionCodeProps extends Omit<Target, 'origin'> {
  readonly question: Question
}

/** The question as code for other programs. None of it contains a key. */
export function QuestionCode({ question, ...asked }: QuestionCodeProps) {
  const target = { ...asked, origin: window.location.origin }
  const sections = [
    ['curl', curlOf(question, target), 'The key is read from the file analyst.key.'],
    ['Python', pythonOf(question, target), 'Needs the package sotto-client, and the key in SOTTO_KEY.'],
    [
      'TypeScript',
      typescriptOf(question, target),
      'Needs the package sotto-client, and the key in SOTTO_KEY.',
    ],
    ['SQL', sqlOf(question, asked.dataset), 'A statement states no price. Give it beside the statement.'],
  ] as const
  return (
    <details className={styles.code}>
      <summary>Use this question elsewhere</summary>
      {sections.map(
        ([title, code, hint]) =>
          code !== undefined && (
            <div key={title}>
              <h3>{title}</h3>
              <Code label={`${title} code`} code={code} />
              <p className={styles.free}>{hint}</p>
            </div>
          ),
      )}
    </details>
  )
}
