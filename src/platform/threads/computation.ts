import type { MessagePort } from 'node:worker_threads'
import { Refusal } from '../../privacy/refusal.ts'

/** Argument with which the pool calls a computation. */
export interface Call<Input> {
  readonly input: Input
  /** Port for progress messages. */
  readonly progress: MessagePort
}

/** A progress message. */
export type WorkerMessage =
  | { readonly kind: 'begun' }
  | { readonly kind: 'progress'; readonly progress: unknown }
  /** The thread must be killed, because its state may be damaged. The computation never ends. */
  | { readonly kind: 'damaged'; readonly refused: RefusalParts }

/** Parts of a refusal. An error loses its class when it leaves a thread. */
type RefusalParts = Required<ConstructorParameters<typeof Refusal>>

export type Outcome<Result> = { readonly result: Result } | { readonly refused: RefusalParts }

function partsOf({ code, message, errors, facts }: Refusal): RefusalParts {
  return [code, message, errors, facts]
}

/**
 * Makes an entry of a thread: a computation that reports its beginning, its progress and its refusal to the pool.
 *
 * @param load loads the modules that the thread's first computation of its kind needs, outside its time limit
 * @param refusalOfDamage returns the refusal for an error after which the thread must not be used again
 */
export function computation<Input, Result>(
  compute: (input: Input, onProgress: (progress: unknown) => void) => Result | Promise<Result>,
  load: () => Promise<unknown> = async () => {},
  refusalOfDamage: (error: unknown) => Refusal | undefined = () => undefined,
) {
  return async ({ input, progress }: Call<Input>): Promise<Outcome<Result>> => {
    const tell = (message: WorkerMessage) => progress.postMessage(message)
    await load()
    tell({ kind: 'begun' })
    try {
      return { result: await compute(input, (made) => tell({ kind: 'progress', progress: made })) }
    } catch (error) {
      if (error instanceof Refusal) return { refused: partsOf(error) }
      const damage = refusalOfDamage(error)
      if (damage === undefined) throw error
      tell({ kind: 'damaged', refused: partsOf(damage) })
      return new Promise(() => {})
    }
  }
}
