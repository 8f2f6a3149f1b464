import type { ReactNode } from 'react'
import { api, at } from '../../../api/api.ts'
import { Code } from '../../../components/tables/code.tsx'
import styles from '../answers.module.css'
import type { AskedQuestion } from '../question-text.ts'
import { sqlOf, statedBeside } from './question-as-sql.ts'
import { curlOf, pythonOf, type Target, typescriptOf } from './question-code.ts'

export interface QuestionCodeProps extends Omit<Target, 'origin'> {
  readonly question: AskedQuestion
}

const NEEDS_CLIENT = 'Needs the package sotto-client, and the key in SOTTO_KEY.'

/** The question as code for other programs. None of it contains a key. */
export function QuestionCode({ question, ...asked }: QuestionCodeProps) {
  const person = usePersonColumn(asked.dataset)
  const target = { ...asked, origin: window.location.origin }
  return (
    <details>
      <summary>Use this question elsewhere</summary>
      <Language title="curl" code={curlOf(question, target)}>
        The key is read from the file analyst.key.
      </Language>
      <Language title="Python" code={pythonOf(question, target)}>
        {NEEDS_CLIENT}
      </Language>
      <Language title="TypeScript" code={typescriptOf(question, target)}>
        {NEEDS_CLIENT}
      </Language>
      <Language title="SQL" code={sqlOf(question, asked.dataset, person)}>
        A statement does not state its price. Give beside it: <code>{besideText(question)}</code>
      </Language>
    </details>
  )
}

interface LanguageProps {
  readonly title: string
  /** Undefined if the question cannot be written in the language. */
  readonly code: string | undefined
  /** Requirements of the code. */
  readonly children: ReactNode
}

function Language({ title, code, children }: LanguageProps) {
  if (code === undefined) return null
  return (
    <div>
      <h3>{title}</h3>
      <Code label={`${title} code`} code={code} />
      <p className={styles.free}>{children}</p>
    </div>
  )
}

/** Returns the fields beside a statement as they stand in the body of a request: `"epsilon": 0.1`. */
function besideText(question: AskedQuestion): string {
  return Object.entries(statedBeside(question))
    .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
    .join(', ')
}

/** Returns the column that identifies people, if the dataset has one and still exists. */
function usePersonColumn(dataset: string): string | undefined {
  const { data } = api.useQuery('get', '/v1/datasets/{dataset}', at({ dataset }))
  return data?.privacyUnit.kind === 'person' ? data.privacyUnit.column : undefined
}
