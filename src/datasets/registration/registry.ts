import { createLimiter, LimiterFull } from '../../platform/concurrency/limiter.ts'
import { Refusal } from '../../privacy/refusal.ts'
import type { RowsOpener } from '../catalog/catalog.ts'
import { describeDataset } from './changes/describe.ts'
import { joinPopulation } from './changes/join-population.ts'
import { publishVersion, tryVersion } from './changes/new-version.ts'
import { recordCoverage } from './changes/record-coverage.ts'
import { register, tryRegistration } from './changes/register.ts'
import { replaceBudget } from './changes/replace-budget.ts'
import { withdraw } from './changes/withdraw.ts'
import type { RegistryContext, RegistryDependencies } from './context.ts'
import { createIngestions } from './ingestions.ts'
import { createRetirement } from './retirement.ts'
import { readTableState } from './table-state.ts'

/** Registers and withdraws datasets. Sources are ingested at the same time, changes are published one at a time. */
export type Registry = ReturnType<typeof createRegistry>

/** The number of changes that wait for the one under way. */
const MAX_WAITING = 100

/** A registry over a catalog, an engine and a ledger. */
export function createRegistry(dependencies: RegistryDependencies) {
  const { catalog, engine, ledger, ingestTimeoutMs } = dependencies
  const limiter = createLimiter({ concurrency: 1, maxWaiting: MAX_WAITING })
  const ingestions = createIngestions({ catalog, timeLimitMs: ingestTimeoutMs })
  const oneAtATime = <Result>(task: () => Promise<Result>): Promise<Result> =>
    limiter.run(task).catch((error: unknown) => {
      if (!(error instanceof LimiterFull)) throw error
      const detail = 'Too many registrations are waiting. Retry later.'
      throw new Refusal('unavailable', detail, [], { retryAfterSeconds: 1 })
    })
  const retirement = createRetirement(dependencies)
  const rows: RowsOpener = {
    open: (entry) => engine.open(entry),
    closeDataset: retirement.closeReplaced,
  }
  const context: RegistryContext = {
    ...dependencies,
    ingestions,
    retirement,
    alone: (task) =>
      oneAtATime(() =>
        ledger
          .exclusively(async (requireAlone) => {
            await catalog.refresh(rows)
            return task(requireAlone)
          })
          .finally(ingestions.stopOvertaken),
      ),
  }
  const inContext =
    <Arguments extends unknown[], Result>(change: (context: RegistryContext, ...rest: Arguments) => Result) =>
    (...rest: Arguments): Result =>
      change(context, ...rest)
  return {
    register: inContext(register),
    tryRegistration: inContext(tryRegistration),
    publishVersion: inContext(publishVersion),
    tryVersion: inContext(tryVersion),
    describe: inContext(describeDataset),
    recordCoverage: inContext(recordCoverage),
    joinPopulation: inContext(joinPopulation),
    replaceBudget: inContext(replaceBudget),
    withdraw: inContext(withdraw),
    listIngestions: ingestions.list,
    stopIngestion: ingestions.stop,
    /** Compares the present columns of a live table with those of its registration; `undefined` for any other id. */
    async tableState(id: string) {
      const entry = catalog.get(id)
      return entry === undefined ? undefined : readTableState(dependencies.connections, entry)
    },
    /** Reads what other processes on the same data folder have registered or withdrawn. */
    refresh: () => oneAtATime(() => catalog.refresh(rows).finally(ingestions.stopOvertaken)),
    /** Stops the ingestions under way. */
    close: ingestions.close,
  }
}
