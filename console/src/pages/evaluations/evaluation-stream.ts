import { chunksOf } from '../../api/chunks.ts'
import type { Schemas } from '../../api/schemas.ts'

export type Evaluation = Schemas['Evaluation']
export type BatchEvaluation = Schemas['BatchEvaluation']
/** Errors of the answers to one query, on its own or of a batch. */
export type QueryEvaluation = Evaluation | BatchEvaluation['evaluations'][number]

/** Progress of an evaluation. */
export interface Progress {
  readonly runs: number
  readonly of: number
}

/** A line of the stream of an evaluation. */
export type EvaluationLine =
  | { readonly progress: Progress }
  | { readonly evaluation: Evaluation | BatchEvaluation }
  | { readonly problem: Schemas['Problem'] }

/**
 * Yields the lines of a stream of JSON documents, each as soon as it is complete.
 * @throws SyntaxError if a line is not JSON, and as {@link chunksOf}
 */
export async function* readLines<Line>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunksOf(stream)) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as Line
  }
  if (rest.trim() !== '') yield JSON.parse(rest) as Line
}
