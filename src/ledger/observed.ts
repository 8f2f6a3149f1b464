import { entry } from '../privacy/must.ts'
import type { ChargeOutcome } from './contract/charges.ts'
import type { Ledger } from './ledger.ts'

/** Receives the kinds and durations of a ledger's operations, for metrics, but no request and no answer. */
export interface LedgerObserver {
  /** A charge was decided for a dataset. */
  charged(dataset: string, outcome: ChargeOutcome['kind']): void
  /** An attempt failed after its charge. `counted` failures can suspend the dataset. */
  failed(dataset: string, counted: boolean): void
  /** A change was durable after this time, which includes the wait for the batch before it. */
  committed(durationMs: number): void
}

/** Returns a ledger that behaves as the given one and reports to an observer. */
export function observeLedger(ledger: Ledger, observer: LedgerObserver): Ledger {
  /** Datasets of the charges that are under way, by charge. */
  const underWay = new Map<string, string>()
  const timed = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    const start = performance.now()
    const result = await call()
    observer.committed(performance.now() - start)
    return result
  }
  const observe = (dataset: string, outcome: ChargeOutcome): void => {
    observer.charged(dataset, outcome.kind)
    if ('charge' in outcome) underWay.set(outcome.charge.id, dataset)
  }
  return {
    ...ledger,
    async charge(request) {
      const outcome = await timed(() => ledger.charge(request))
      observe(request.dataset, outcome)
      return outcome
    },
    async chargeAll(requests) {
      const decided = await timed(() => ledger.chargeAll(requests))
      const datasets = requests.map(({ dataset }) => dataset)
      if (decided.kind === 'refused') observe(entry(datasets, decided.place), decided.outcome)
      else for (const [place, each] of decided.outcomes.entries()) observe(entry(datasets, place), each)
      return decided
    },
    recordAnswer(id, ...rest) {
      underWay.delete(id)
      return timed(() => ledger.recordAnswer(id, ...rest))
    },
    openSession(id, ...rest) {
      underWay.delete(id)
      return timed(() => ledger.openSession(id, ...rest))
    },
    recordFailure(id, attempt, failure) {
      const dataset = underWay.get(id)
      underWay.delete(id)
      if (dataset !== undefined) observer.failed(dataset, failure?.counts ?? false)
      return timed(() => ledger.recordFailure(id, attempt, failure))
    },
    recordSessionAnswer: (answer) => timed(() => ledger.recordSessionAnswer(answer)),
  }
}
