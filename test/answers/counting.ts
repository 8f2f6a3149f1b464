import path from 'node:path'
import { createAdmission } from '../../src/answers/admission.ts'
import type { AnswerDependencies } from '../../src/answers/answer.ts'
import { systemClock } from '../../src/answers/release-time.ts'
import { systemEntropy } from '../../src/core/mechanisms/samplers/entropy.ts'
import { type Engine, EngineFailure } from '../../src/engines/engine.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { deltaAtto, epsilonNano } from '../../src/privacy/loss.ts'
import { temporaryFolder } from '../folders.ts'

/** Opens a ledger with a budget for the dataset `people`. */
export async function openPeopleLedger(
  epsilon: bigint,
  { delta = 0n, folder = temporaryFolder() } = {},
): Promise<Ledger> {
  const ledger = await openSqliteLedger({ path: path.join(folder, 'ledger.sqlite') })
  const granted = { epsilonNano: epsilonNano(epsilon * 1_000_000_000n), deltaAtto: deltaAtto(delta) }
  await ledger.openBudget('people', { accounting: 'basic', neighbours: 'add-remove', granted }, 'custodian')
  return ledger
}

/** An engine that computes aggregates in one way, and nothing else. */
export function aggregating(aggregate: Engine['aggregate']): Engine {
  const never = () => Promise.reject(new EngineFailure())
  return {
    aggregate,
    countIndexes: never,
    countIndexesInCells: never,
    countTexts: never,
    healthy: async () => true,
    close: async () => undefined,
  }
}

/** Dependencies of answers from an engine that only aggregates. */
export function dependenciesOf(
  ledger: Ledger,
  aggregate: Engine['aggregate'],
  changes: Partial<AnswerDependencies> = {},
): AnswerDependencies {
  return {
    engine: aggregating(aggregate),
    ledger,
    noiseSource: systemEntropy(),
    limits: { maxCells: 100 },
    leaseMs: 60_000,
    clock: systemClock,
    admission: createAdmission({ places: 4, turns: 16, maxWaiting: 100, maxWaitMs: 60_000 }),
    ...changes,
  }
}
