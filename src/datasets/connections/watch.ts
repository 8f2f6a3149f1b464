import { setTimeout as wait } from 'node:timers/promises'
import type { Connection } from '../../engines/tables/connection.ts'
import type { TableEngine } from '../../engines/tables/table-engine.ts'

/** Time between two checks of a connection. */
const CHECK_MS = 10_000

/** The same for a connection that could not be reached. */
const CHECK_AGAIN_MS = 1_000

/** Time after which a check without a result counts as a failed one. */
const CHECK_TIMEOUT_MS = 5_000

/** State of a connection, without the facts that only its operator knows. */
export interface ConnectionState {
  readonly name: string
  readonly engine: Connection['engine']
  /** True if the last check could reach the database. */
  readonly reachable: boolean
}

/** The last known states of all configured connections. Reading a state sends nothing to a database. */
export interface WatchedConnections {
  list(): readonly ConnectionState[]
  /** Returns false for a connection that is not configured. */
  isReachable(name: string): boolean
  /** Checks a connection at once, unless a check is under way. A statement may have failed because of it. */
  checkSoon(name: string): void
  /** Stops checking and waits for checks that are under way. */
  close(): Promise<void>
}

/** A connection and the engine that uses it. */
export interface WatchedConnection {
  readonly connection: Pick<Connection, 'name' | 'engine'>
  readonly engine: Pick<TableEngine, 'reachable'>
}

/** Options of {@link watchConnections}; the times are for tests. */
export interface WatchOptions {
  /** Called when a connection becomes reachable or unreachable. */
  readonly onChange: (state: ConnectionState) => void
  readonly checkMs?: number
  readonly checkAgainMs?: number
  readonly checkTimeoutMs?: number
}

/**
 * Checks connections regularly. Each process has at most one check of a connection under way, however many requests ask
 * for its state. Resolves after the first check of every connection, or its time limit. See decision 40.
 */
export async function watchConnections(
  connections: readonly WatchedConnection[],
  options: WatchOptions,
): Promise<WatchedConnections> {
  const { onChange, checkMs = CHECK_MS, checkAgainMs = CHECK_AGAIN_MS } = options
  const { checkTimeoutMs = CHECK_TIMEOUT_MS } = options
  const reachable = new Map<string, boolean>()
  const again = new Map<string, NodeJS.Timeout>()
  const checking = new Map<string, Promise<boolean>>()
  const stateOf = ({ connection: { name, engine } }: WatchedConnection): ConnectionState => ({
    ...{ name, engine },
    reachable: reachable.get(name) ?? false,
  })

  const check = async (watched: WatchedConnection): Promise<void> => {
    const { name } = watched.connection
    // A check that outlasts its time limit goes on, and no other is started beside it.
    let running = checking.get(name)
    if (running === undefined) {
      running = watched.engine.reachable().catch(() => false)
      running.finally(() => checking.delete(name))
      checking.set(name, running)
    }
    const before = reachable.get(name)
    const isReachable = await Promise.race([running, wait(checkTimeoutMs, false, { ref: false })])
    reachable.set(name, isReachable)
    // The first state is reported only if the database cannot be reached.
    if (isReachable !== (before ?? true)) onChange(stateOf(watched))
    clearTimeout(again.get(name))
    if (!isReachable && !isClosed) again.set(name, setTimeout(check, checkAgainMs, watched).unref())
  }

  const checkAll = () => Promise.all(connections.map(check))
  let isClosed = false
  await checkAll()
  const timer = setInterval(checkAll, checkMs)
  timer.unref()
  return {
    list: () => connections.map(stateOf),
    isReachable: (name) => reachable.get(name) ?? false,
    checkSoon(name) {
      const watched = connections.find(({ connection }) => connection.name === name)
      if (watched !== undefined && !isClosed && !checking.has(name)) void check(watched)
    },
    async close() {
      isClosed = true
      clearInterval(timer)
      for (const each of again.values()) clearTimeout(each)
      await Promise.all(
        Array.from(checking.values(), (running) => Promise.race([running, wait(checkTimeoutMs)])),
      )
    },
  }
}
