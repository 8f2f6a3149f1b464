import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { createLimiter, LimiterFull, LimiterTimeout } from '../../../platform/concurrency/limiter.ts'
import { Refusal, refuseField } from '../../../privacy/refusal.ts'
import type { Connections } from '../sources/table.ts'
import type { DescribedSource } from './described.ts'
import { type Draft, draftDeclaration } from './draft.ts'
import { type DraftedFile, describeFile } from './file.ts'
import { type DraftedTable, describeTable } from './table.ts'

/** A source to draft a declaration for. The draft finds the format and the dialect. */
export type DraftedSource = DraftedFile | DraftedTable

/** Proposes declarations of sources. */
export interface Drafts {
  /**
   * Proposes a declaration. It is neither stored nor recorded.
   * @param principal the custodian, whose uploads may be read
   * @throws Refusal `source-refused`, `source-unreadable` or `unavailable`
   */
  propose(source: DraftedSource, principal: string, options: DraftOptions): Promise<Draft>
}

/** Options of {@link Drafts.propose}. */
export interface DraftOptions {
  /** True if the draft lists values of the data. */
  readonly showDataHints: boolean
  /** Aborted once the client has disconnected. */
  readonly signal: AbortSignal
}

/** Time limit for a draft. */
const DRAFT_TIMEOUT_MS = 30_000

/** Folders and connections that drafts read. */
export interface DraftSurroundings {
  readonly dataDirectory: string
  readonly temporaryDirectory: string
  readonly connections: Connections
}

/** Creates the drafts of one process. */
export function createDrafts({ dataDirectory, temporaryDirectory, connections }: DraftSurroundings): Drafts {
  const limiter = createLimiter({ concurrency: 2, maxWaiting: 20, maxWaitMs: DRAFT_TIMEOUT_MS })
  const describe = async (source: DraftedSource, principal: string, signal: AbortSignal) => {
    if (source.kind === 'table') return describeTable(connections, source, signal)
    const folder = await mkdtemp(path.join(temporaryDirectory, 'draft-'))
    try {
      return await describeFile(source, { dataDirectory, principal, folder, signal })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  return {
    async propose(source, principal, { showDataHints, signal }) {
      const task = () => within(signal, (limited) => describe(source, principal, limited))
      const described = await limiter.run(task, { owner: principal, signal }).catch((error: unknown) => {
        if (!(error instanceof LimiterFull || error instanceof LimiterTimeout)) throw error
        const detail = 'Too many drafts are waiting. Retry later.'
        throw new Refusal('unavailable', detail, [], { retryAfterSeconds: 1 })
      })
      return draftDeclaration(described, showDataHints)
    },
  }
}

/** Runs a task with the time limit of a draft. */
async function within(
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<DescribedSource>,
): Promise<DescribedSource> {
  const limit = AbortSignal.timeout(DRAFT_TIMEOUT_MS)
  try {
    return await task(AbortSignal.any([signal, limit]))
  } catch (error) {
    if (!limit.aborted) throw error
    const rule = `must be readable within ${DRAFT_TIMEOUT_MS / 1_000} s; write the declaration by hand`
    throw refuseField('source-unreadable', 'source', rule)
  }
}
