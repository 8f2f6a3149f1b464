import { useEffect, useRef, useState } from 'react'
import { Problem, UnexpectedResponse } from 'sotto-client'
import { requests } from '../../api/api.ts'
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

export type EvaluationState =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly progress: Progress }
  | {
      readonly state: 'done'
      readonly evaluation: Evaluation | BatchEvaluation
      readonly query: EvaluatedBody
    }
  | { readonly state: 'failed'; readonly error: unknown }

/** Returns the state of an evaluation, and functions that start and stop one. Leaving the page stops it. */
export function useEvaluation() {
  const [state, setState] = useState<EvaluationState>({ state: 'idle' })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const start = async (terms: EvaluationTerms) => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setState({ state: 'running', progress: { runs: 0, of: terms.runs } })
    try {
      const evaluation = await evaluate(terms, controller.signal, (progress) =>
        setState({ state: 'running', progress }),
      )
      setState({ state: 'done', evaluation, query: terms.query })
    } catch (error) {
      if (!controller.signal.aborted) setState({ state: 'failed', error })
    }
  }
  const stop = () => {
    running.current?.abort()
    setState({ state: 'idle' })
  }
  return { state, start, stop }
}

/**
 * Evaluates a question or a batch over synthetic data.
 * @throws Problem, ConnectionFailed or UnexpectedResponse
 */
async function evaluate(
  terms: EvaluationTerms,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<Evaluation | BatchEvaluation> {
  for await (const line of readLines<EvaluationLine>(await openStream(terms, signal))) {
    if ('evaluation' in line) return line.evaluation
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
  const size = { runs, shown: 0 }
  const { data } = isBatch(query)
    ? await requests.POST('/v1/datasets/{dataset}/evaluations/batch', {
        ...options,
        body: { queries: [...query.queries], ...size },
      })
    : await requests.POST('/v1/datasets/{dataset}/evaluations', { ...options, body: { query, ...size } })
  return data as ReadableStream<Uint8Array>
}
