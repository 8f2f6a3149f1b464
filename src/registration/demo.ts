import { populationColumns } from './sources/population.ts'

/** The registration of the demo dataset, as a custodian would send it. */
export const censusRegistration = {
  id: 'census',
  title: 'A made-up census of 100,000 people',
  source: { kind: 'population', rows: 100_000, seed: 'sotto census' },
  columns: populationColumns,
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 10, delta: 1e-5 },
  synthetic: true,
  accounting: 'basic',
  sharing: false,
  timing: 'off',
  failureLimit: 3,
  queryLimits: {},
} as const
