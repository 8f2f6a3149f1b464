import type { NotedEvent } from '../../../../src/ledger/protocol/verifier/noted-events.ts'

/** Head that this browser noted when it verified a chain. */
export interface KeptHead extends Pick<NotedEvent, 'dataset' | 'sequence' | 'hash'> {
  /** Time at which it was noted, ISO 8601. */
  readonly at: string
}

/** Key of the heads in the local storage. They contain nothing about the data. */
const STORED = 'sotto.heads'

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>

/** Returns the head of a chain that this browser noted last. */
export function keptHead(dataset: string, storage: Storage = localStorage): KeptHead | undefined {
  return heads(storage)[dataset]
}

/** Notes a head, so that the next verification finds out if the chain still contains it. */
export function keepHead(head: KeptHead, storage: Storage = localStorage): void {
  storage.setItem(STORED, JSON.stringify({ ...heads(storage), [head.dataset]: head }))
}

function heads(storage: Storage): Readonly<Record<string, KeptHead>> {
  try {
    return JSON.parse(storage.getItem(STORED) ?? '{}')
  } catch {
    return {}
  }
}
