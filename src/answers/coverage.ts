import { type Dataset, isLive } from '../core/dataset/dataset.ts'
import type { CatalogEntry } from '../core/dataset/entry.ts'
import { coverageOf } from '../core/planner/kinds/contribution-profile/coverage.ts'
import { plan } from '../core/planner/plan.ts'
import type { Registry } from '../datasets/registration/registry.ts'
import { COVERAGE_PRINCIPAL } from '../ledger/contract/releases.ts'
import { epsilonNumber } from '../privacy/loss.ts'
import { Refusal, refuseQuery, unknownDataset } from '../privacy/refusal.ts'
import { type AnswerDependencies, answer } from './answer.ts'
import type { Query } from './asked.ts'

/*
 * Measures what `maxRows` leaves out of a dataset. The service asks for a profile of the people as an analyst would, with
 * the same charge before the same reading, and publishes what follows from it. See decision 60.
 */

/** Dependencies of measuring. */
export interface CoverageDependencies extends AnswerDependencies {
  readonly registry: Pick<Registry, 'recordCoverage'>
  /** Receives failures of measurements that nobody waits for. */
  readonly onError: (error: unknown) => void
}

/** Measures coverage. */
export interface CoverageMeasurement {
  /**
   * Measures a version, and publishes the result. The same version again costs nothing. Where each row is a privacy unit,
   * no row is left out, and nothing is measured.
   * @throws Refusal `query-does-not-fit` if the custodian has declined; as {@link answer} does, if the budget does not
   * pay for it.
   */
  measure(entry: CatalogEntry): Promise<CatalogEntry>
  /**
   * Measures a version that was published, once, unless it is a live table or its custodian has declined. What cannot be
   * measured or paid for stays unknown.
   */
  measurePublished(entry: CatalogEntry): Promise<CatalogEntry>
}

/** Creates the measurement of coverage. */
export function createCoverageMeasurement(dependencies: CoverageDependencies): CoverageMeasurement {
  const measure = async (entry: CatalogEntry): Promise<CatalogEntry> => {
    const { dataset } = entry
    const { privacyUnit } = dataset
    if (privacyUnit.kind === 'row') return entry
    const query = profileOf(dataset)
    if (query === undefined) throw refuseQuery('dataset', 'must declare a leftOut.epsilon above 0')
    // The custodian declares this price. The limits are those of analysts' queries.
    const unlimited = { ...dataset, queryLimits: {} }
    const planned = plan(query, unlimited, dependencies.limits)
    if (planned.kind !== 'additive') throw new RangeError('a profile is a table of counts')
    const { body } = await answer(dependencies, { principal: COVERAGE_PRINCIPAL, dataset: unlimited, query })
    const { id, result } = JSON.parse(body) as ProfileAnswer
    const counts = result.cells.map(({ value }) => value)
    const coverage = { release: id, ...coverageOf(planned, counts, privacyUnit) }
    const measured = await dependencies.registry.recordCoverage(dataset, coverage)
    if (measured === undefined) throw unknownDataset(dataset.id)
    return measured
  }
  return {
    measure,
    async measurePublished(entry) {
      const { dataset } = entry
      if (dataset.coverage !== undefined || isLive(dataset) || profileOf(dataset) === undefined) return entry
      try {
        return await measure(entry)
      } catch (error) {
        if (!(error instanceof Refusal)) dependencies.onError(error)
        return entry
      }
    },
  }
}

interface ProfileAnswer {
  readonly id: string
  readonly result: { readonly cells: readonly { readonly value: number }[] }
}

/** The question that measures a dataset; `undefined` where rows are the privacy units, or the custodian has declined. */
function profileOf({ leftOutNano }: Pick<Dataset, 'leftOutNano'>): Query | undefined {
  if (leftOutNano === undefined || leftOutNano === 0n) return undefined
  return {
    kind: 'contributionProfile',
    epsilon: epsilonNumber(leftOutNano),
    delta: 0,
    postprocess: { round: false, nonNegative: false },
  }
}
