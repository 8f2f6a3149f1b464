import { ConnectionFailed, Problem, UnexpectedResponse } from 'sotto-client'

/** Title of an error, and what the person can do. */
export interface Advice {
  readonly title: string
  readonly advice?: string
}

/** Advice by the code of a problem, where the problem's own text does not say what to do. */
const ADVICE: Readonly<Record<string, string>> = {
  unauthenticated:
    'The key may have ended or been deleted. Sign in again with a valid key, which a custodian can give you.',
  forbidden: 'Ask a custodian for a key with another role.',
  'unknown-dataset': 'The dataset may have been withdrawn, or your key may not include it.',
  'budget-insufficient':
    'Ask with a smaller epsilon, or ask the custodian to raise the budget. Nothing was charged.',
  'allotment-insufficient':
    'Ask with a smaller epsilon, or ask the custodian to raise your allotment. Nothing was charged.',
  'dataset-suspended':
    'A custodian has to look at the dataset before it answers again: tell the custodian. Stored answers stay available.',
  'dataset-exists':
    'If the connection was lost while you published, the dataset may be yours: look at it. Otherwise choose another id.',
  'session-used-up': 'Open a further session. The answers of this one stay available.',
  'session-dataset-changed': 'Open a session on the present version. The answers of this one stay available.',
  'unknown-session': 'Continue one of your own sessions, or open a new one.',
  'upload-too-large':
    'Ask the operator to copy the file to the data folder, or to raise the limit. Gzip and Parquet are smaller.',
  'unknown-source': 'Upload the file again: uploads expire.',
  'source-unreadable':
    'Save the data as CSV in UTF-8, with one header, or as Parquet, and upload the file again.',
  'ingestion-stopped': 'Nothing was published. Start again when you want to.',
  'ingestion-too-long': 'Nothing was published. Ask the operator to raise the limit, or use a smaller file.',
  'dataset-changed': 'Nothing was published. Reload the page to see the present state, then try again.',
  'not-synthetic': 'Choose a dataset of made-up people. Errors beside the truth would reveal real data.',
  'last-custodian-key': 'Create another custodian key first.',
  'rate-limited': 'Wait a moment, then try again.',
  'quota-exceeded': 'Wait until your other requests have finished, then try again.',
  unavailable: 'The service is busy. Try again: a question that was already charged is not charged twice.',
  'query-in-flight': 'The same question is being answered. Try again in a moment; it is charged once.',
}

/**
 * Returns the title of an error, and what the person can do.
 * @param lost advice in place of the usual one if the connection was lost, for requests that are no questions
 */
export function adviceOn(error: unknown, lost?: string): Advice {
  if (error instanceof Problem) {
    const advice = ADVICE[error.code]
    return { title: error.title, ...(advice === undefined ? {} : { advice }) }
  }
  if (error instanceof ConnectionFailed)
    return {
      title: 'The service did not answer',
      advice:
        lost ??
        'Check your connection, then try again. A question that was already charged is not charged twice.',
    }
  if (error instanceof UnexpectedResponse)
    return {
      title: 'Something other than the service answered',
      advice: 'A proxy may be in between. Reload the page.',
    }
  return {
    title: 'The console failed',
    advice: 'Reload the page. Your questions and answers are stored by the service.',
  }
}
