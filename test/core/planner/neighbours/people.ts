import { type Column, type Dataset, isQueryable } from '../../../../src/core/dataset/dataset.ts'
import { type DatasetDeclaration, declareDataset } from '../../../../src/core/dataset/declaration.ts'
import { DEFAULT_SELECTABLE } from '../../../../src/core/dataset/value-limits.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'

/** The columns of {@link people}, of persons with up to `maxRows` rows each. Sex and Region are constant per person. */
export function patients(neighbours: Neighbours, maxRows = 4): Dataset {
  const { columns } = people(neighbours)
  const { rows: _, ...facts } = people(neighbours)
  return {
    ...facts,
    id: 'patients',
    columns: [
      {
        name: 'Patient',
        type: 'identifier',
        nullable: false,
        invalidValue: { kind: 'refuse' },
      },
      ...columns.filter(isQueryable).map((column): Column => {
        if (column.type === 'string') return { ...column, selectable: DEFAULT_SELECTABLE }
        return column.name === 'Sex' || column.name === 'Region'
          ? { ...column, constantPerPerson: true }
          : column
      }),
    ],
    privacyUnit: { kind: 'person', column: 'Patient', maxRows },
    ...(neighbours === 'change-one' ? { people: 50 } : {}),
  }
}

/** A small dataset with a column of each type, for planning. */
export function people(neighbours: Neighbours, rows = 100) {
  return declareDataset(peopleDeclaration(neighbours), 'v1', rows)
}

export function peopleDeclaration(neighbours: Neighbours): DatasetDeclaration {
  return {
    id: 'people',
    title: 'People',
    source: { kind: 'file', path: 'people.csv', format: 'csv' },
    columns: [
      { name: 'Age', type: 'integer', lower: 0, upper: 120, step: 1, nullable: false },
      { name: 'Balance', type: 'number', lower: -50, upper: 30, step: 0.05, nullable: false },
      { name: 'Income', type: 'number', lower: 10, upper: 500, step: 0.5, nullable: true },
      {
        name: 'Visited',
        type: 'date',
        lower: '2024-01-20',
        upper: '2024-04-10',
        step: 1,
        dateFormat: 'YYYY-MM-DD',
        nullable: true,
      },
      { name: 'Sex', type: 'category', categories: ['M', 'F'], nullable: false },
      { name: 'Region', type: 'category', categories: ['N', 'E', 'S'], nullable: true },
      { name: 'Member', type: 'boolean', nullable: true },
      { name: 'Note', type: 'string', selectable: true, nullable: true },
    ],
    privacyUnit: { kind: 'row' },
    neighbours,
    synthetic: true,
    accounting: 'basic',
    sharing: false,
    timing: 'off',
    failureLimit: 3,
    queryLimits: {},
  }
}
