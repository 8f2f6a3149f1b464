import type { components } from '../../../clients/typescript/src/schema.ts'
import { type DatasetDeclaration, declareDataset } from '../../../src/core/dataset/declaration.ts'

type Facts = components['schemas']['Dataset']

/** A dataset as the console knows it, and as the planner does. */
export interface KnownDataset {
  readonly facts: Facts
  readonly dataset: ReturnType<typeof declareDataset>
}

/** Declares a dataset of some columns. */
export function knownDataset(
  columns: readonly object[],
  declared: Partial<Pick<Facts, 'privacyUnit' | 'neighbours' | 'queryLimits' | 'accounting'>> = {},
): KnownDataset {
  const facts = {
    id: 'visits',
    title: 'Visits',
    source: { kind: 'file', path: 'visits.csv', format: 'csv' },
    privacyUnit: { kind: 'row' },
    neighbours: 'add-remove',
    accounting: 'basic',
    sharing: false,
    synthetic: false,
    timing: 'off',
    failureLimit: 3,
    queryLimits: {},
    columns,
    ...declared,
  }
  return {
    facts: { ...facts, version: '1', registeredAt: '2026-01-01T00:00:00.000Z' } as unknown as Facts,
    dataset: declareDataset(facts as unknown as DatasetDeclaration, '1'),
  }
}

const LIMITS = { maxValues: 1_000, maxLength: 100 }

/** Columns of every type. */
export const COLUMNS = [
  { name: 'patient', type: 'identifier', nullable: false },
  { name: 'age', type: 'integer', lower: 0, upper: 120, step: 1, nullable: false },
  { name: 'Region', type: 'category', categories: ['north', "the 'south'"], nullable: false },
  { name: 'cost', type: 'number', lower: 0, upper: 1_000, step: 0.5, nullable: true },
  { name: 'day', type: 'date', lower: '2024-01-01', upper: '2024-12-31', step: 1, nullable: false },
  {
    name: 'seen',
    type: 'timestamp',
    lower: '2024-01-01T00:00:00Z',
    upper: '2024-01-03T00:00:00Z',
    step: 60,
    timeZone: 'UTC',
    nullable: true,
  },
  { name: 'urgent', type: 'boolean', nullable: true },
  { name: 'diagnosis', type: 'string', selectable: LIMITS, nullable: false },
] as const

/** People with several rows, and rows that are people. */
export const PEOPLE = knownDataset(COLUMNS, {
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 50 },
})
export const ROWS = knownDataset(COLUMNS)
