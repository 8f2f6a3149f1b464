import type { RegistrationForm, Step } from './declaration.ts'

/** Part of the registration: what was entered so far, and changes of it. */
export interface StepProps {
  readonly form: RegistrationForm
  /** Takes changes, or a function that returns them for the present form. */
  readonly onChange: (changes: FormChanges) => void
}

export type FormChanges = Partial<RegistrationForm> | ((form: RegistrationForm) => Partial<RegistrationForm>)

/** Address of a step. */
export function hrefOfStep(step: Step): string {
  return step === 'source' ? '/register' : `/register/${step}`
}

/** Returns what tells a source apart, in a few words. */
export function describeSource({ source, fileName }: Pick<RegistrationForm, 'source' | 'fileName'>): string {
  switch (source.kind) {
    case 'upload':
      return fileName
    case 'file':
      return source.path
    case 'table': {
      const { connection, table, mode = 'live', freshness } = source
      return `${connection}: ${table} (${mode}${freshness === undefined ? '' : `, freshness: ${freshness}`})`
    }
    case 'joined':
      return `joined tables: ${Object.keys(source.tables).join(', ')}`
    case 'population':
    case 'visits':
      return `made-up ${source.kind} of ${source.rows} rows`
  }
}
