import { Problem, UnexpectedResponse } from 'sotto-client'
import { requests } from '../../api/api.ts'
import type { AttemptOptions } from '../../api/use-attempt.ts'
import {
  type BatchEvaluation,
  type Evaluation,
  type EvaluationLine,
  type Progress,
  readLines,
} from './evaluation-stream.ts'
import { type EvaluatedBody, isBatch } from './examples.ts'

export interface EvaluationTerms {
  readonly dataset: string
  readonly query: EvaluatedBody
  readonly runs: number
}

/** An evaluation, and the question or batch that it is of. */
export interface Evaluated {
  readonly evaluation: Evaluation | BatchEvaluation
  readonly query: EvaluatedBody
}

/**
 * Evaluates a question or a batch over synthetic data.
 * @throws Problem, ConnectionFailed or UnexpectedResponse
 */
export async function evaluate(
  terms: EvaluationTerms,
  { onProgress, signal }: AttemptOptions<Progress>,
): Promise<Evaluated> {
  for await (const line of readLines<EvaluationLine>(await openStream(terms, signal))) {
    if ('evaluation' in line) return { evaluation: line.evaluation, query: terms.query }
    if ('problem' in line) throw new Problem(line.problem)
    onProgress(line.progress)
  }
  throw new UnexpectedResponse('the stream ended before the evaluation')
}

async function openStream({ dataset, query, runs }: EvaluationTerms, signal: AbortSignal) {
  const options = {
    params: { path: { dataset } },
    headers: { accept: 'application/x-ndjson' },
    parseAs: 'stream' as const,
    signal,
  }
  const size = { runs, shown: 1 }
  const { data } = isBatch(query)
    ? await requests.POST('/v1/datasets/{dataset}/evaluations/batch', {
        ...options,
        body: { queries: [...query.queries], ...size },
      })
    : await requests.POST('/v1/datasets/{dataset}/evaluations', { ...options, body: { query, ...size } })
  return data as ReadableStream<Uint8Array>
}
