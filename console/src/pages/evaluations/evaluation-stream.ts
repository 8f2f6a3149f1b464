import type { components } from 'sotto-client'

type Schemas = components['schemas']
export type Evaluation = Schemas['Evaluation']

/** Progress of an evaluation. */
export interface Progress {
  readonly runs: number
  readonly of: number
}

/** A line of the stream of an evaluation. */
export type EvaluationLine =
  | { readonly progress: Progress }
  | { readonly evaluation: Evaluation }
  | { readonly problem: Schemas['Problem'] }

/**
 * Yields the lines of a stream of JSON documents, each as soon as it is complete.
 * @throws SyntaxError if a line is not JSON
 */
export async function* readLines<Line>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Line> {
  const reader = stream
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .getReader()
  let rest = ''
  try {
    for (;;) {
      const { value, done } = await reader.read()
      const lines = `${rest}${value ?? ''}`.split('\n')
      rest = done ? '' : (lines.pop() ?? '')
      for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as Line
      if (done) return
    }
  } finally {
    await reader.cancel()
  }
}
