import seedrandom from 'seedrandom'
import type { Measurement } from '../../../src/core/mechanisms/measurement.ts'
import type { AdditivePlan } from '../../../src/core/planner/additive/shape.ts'
import { reporter } from '../../../src/core/planner/report.ts'
import { aggregateRows, type StoredRow } from '../../engines/reference-engine.ts'

/**
 * Draws the noise of one entry, in output units: the discrete Laplace distribution by its inverse, the others to within
 * a unit of 2^40.
 */
function drawer({ noise }: Measurement, random: () => number): () => bigint {
  switch (noise.kind) {
    case 'discrete-laplace': {
      const scale = Number(noise.scale.numerator) / Number(noise.scale.denominator)
      const geometric = () => Math.floor(-scale * Math.log(1 - random()))
      return () => BigInt(geometric() - geometric())
    }
    case 'discrete-gaussian': {
      const sigma = Number(noise.sigma)
      const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
      return () => BigInt(Math.round(sigma * normal()))
    }
  }
}

/** Draws the noisy integers of a plan over rows. */
export function noisyIntegers(planned: AdditivePlan, rows: readonly StoredRow[], random: () => number) {
  const exact = aggregateRows(planned.aggregate, rows)
  const drawers = planned.measurements.map((measurement) => drawer(measurement, random))
  return () =>
    exact.map((cells, place) => {
      const bits = BigInt(planned.measurements[place]?.fractionBits ?? 0)
      return cells.map((value) => (value << bits) + (drawers[place]?.() ?? 0n))
    })
}

/** Reports of a plan over rows, with seeded noise, so that every run gives the same. */
export function* releasesOf(planned: AdditivePlan, rows: readonly StoredRow[], draws: number, seed: string) {
  const draw = noisyIntegers(planned, rows, seedrandom(seed))
  const reportOf = reporter(planned)
  for (let drawn = 0; drawn < draws; drawn += 1) yield reportOf({ kind: 'additive', noisy: draw() })
}
