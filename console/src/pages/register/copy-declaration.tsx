import { useState } from 'react'
import { api, bodyOf, requests } from '../../api/api.ts'
import { Field } from '../../components/field.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { formLikeDataset } from './declaration.ts'
import styles from './register.module.css'
import type { StepProps } from './register-page.tsx'

/** Copies the declaration of a dataset that exists, such as to register it again with other limits. */
export function CopyDeclaration({ onChange }: Pick<StepProps, 'onChange'>) {
  const { data } = api.useQuery('get', '/v1/datasets')
  const [copied, setCopied] = useState<{ readonly id: string; readonly error?: unknown }>({ id: '' })
  const copy = async (id: string) => {
    const dataset = data?.datasets.find((each) => each.id === id)
    if (dataset === undefined) return
    setCopied({ id })
    try {
      const path = { params: { path: { dataset: id } } }
      const { granted } = await bodyOf(requests.GET('/v1/datasets/{dataset}/budget', path))
      onChange((form) => formLikeDataset(form, { dataset, granted }))
    } catch (error) {
      setCopied({ id: '', error })
    }
  }
  if (data === undefined || data.datasets.length === 0) return null
  return (
    <details>
      <summary>Copy the declaration of a dataset</summary>
      <div className={styles.columnBody}>
        <Field
          label="Dataset"
          hint="Its id, texts, columns of the same names, people, budget and limits replace those here. To change its declaration, continue, withdraw it, and publish again under its id: what is spent stays spent."
        >
          {(attributes) => (
            <select {...attributes} value={copied.id} onChange={(event) => void copy(event.target.value)}>
              <option value="" disabled>
                Choose a dataset
              </option>
              {data.datasets.map(({ id, title }) => (
                <option key={id} value={id}>
                  {title} ({id})
                </option>
              ))}
            </select>
          )}
        </Field>
        {copied.error !== undefined && <ProblemNotice error={copied.error} />}
      </div>
    </details>
  )
}
