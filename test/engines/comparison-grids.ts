import type { Column } from '../../src/core/dataset/dataset.ts'
import { column } from './fixture.ts'

const NANO = 1_000_000_000n

export type GridColumn = Extract<Column, { lowerIndex: bigint }>

/** Types of a database's columns whose values are compared with the edges of each grid. */
export interface ComparedTypes {
  readonly hundredths: readonly string[]
  readonly nanos: readonly string[]
  readonly threeHundredths: readonly string[]
  readonly by250: readonly string[]
  readonly by7: readonly string[]
  readonly byBillion: readonly string[]
  readonly dates: readonly string[]
}

/** Columns with types of a table and values at, just below and just above the edges between indexes. */
export function comparisonGrids(
  types: ComparedTypes,
  extremeDates: readonly string[],
): readonly (readonly [GridColumn, readonly string[], readonly string[]])[] {
  const number = (stepNano: bigint) => column.number('v', stepNano, -3n, 5n) as GridColumn
  return [
    [
      number(10_000_000n),
      types.hundredths,
      [-4, -3, -2, -1, 0, 1, 4, 5, 6].flatMap((index) => around(index / 100 - 0.005, 0.000000000001)),
    ],
    [number(1n), types.nanos, [-3, -2, 0, 1, 5, 6].flatMap((index) => around(index * 1e-9 - 5e-10, 1e-12))],
    [
      number(30_000_000n),
      types.threeHundredths,
      [-3, -2, 0, 1, 5, 6].flatMap((index) => around(index * 0.03 - 0.015, 1e-12)),
    ],
    [number(250n * NANO), types.by250, [-3, -2, 0, 1, 5, 6].flatMap((index) => around(index * 250 - 125, 1))],
    [
      { ...column.integer('v', -3n, 12n), stepNano: 7n * NANO } as GridColumn,
      types.by7,
      [-3, -2, 0, 1, 5, 12, 13].flatMap((index) => [
        ...around(index * 7 - 3.5, 0.5),
        ...around(index * 7, 1),
      ]),
    ],
    [
      { ...column.integer('v', -(2n ** 40n), 2n ** 40n), stepNano: NANO * NANO } as GridColumn,
      types.byBillion,
      [
        '9223372036854775807',
        '-9223372036854775808',
        '1000000000',
        '499999999',
        '500000000',
        '500000001',
        '0',
      ],
    ],
    ...[1n, 7n, 2n].map(
      (step) =>
        [
          column.date('v', '1969-12-01', '2001-03-01', { step }) as GridColumn,
          types.dates,
          [
            ...extremeDates,
            '1969-11-30 23:59:59.999999',
            ...days('1969-12', '00:00:00'),
            ...days('2001-02', '23:59:59.999'),
            ...['2001-03-01', '2001-03-02', '2001-03-20'],
          ],
        ] as const,
    ),
  ]
}

function around(edge: number, distance: number): readonly string[] {
  return [edge - distance, edge, edge + distance].map((value) => value.toFixed(12))
}

/** The first 24 days of a month, at one time. */
function days(month: string, time: string): readonly string[] {
  return Array.from({ length: 24 }, (_, day) => `${month}-${String(day + 1).padStart(2, '0')} ${time}`)
}
