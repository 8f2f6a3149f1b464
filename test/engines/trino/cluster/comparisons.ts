import { expect, it } from 'vitest'
import type { Column } from '../../../../src/core/dataset/dataset.ts'
import { type ComparisonOf, printComparison } from '../../../../src/engines/tables/comparisons.ts'
import { trinoDialect } from '../../../../src/engines/trino/dialect.ts'
import type { Trino } from '../../../servers/trino.ts'
import { comparisonGrids } from '../../comparison-grids.ts'
import { column } from '../../fixture.ts'

const WHOLE = ['tinyint', 'smallint', 'integer', 'bigint'] as const

const GRIDS = comparisonGrids(
  {
    hundredths: [
      'decimal(15,2)',
      'decimal(20,12)',
      'decimal(38,0)',
      'decimal(38,38)',
      'decimal(1,0)',
      'tinyint',
      'bigint',
    ],
    nanos: ['decimal(20,12)'],
    threeHundredths: ['decimal(20,12)', 'decimal(38,10)', 'decimal(5,3)', 'bigint'],
    by250: [...WHOLE, 'decimal(5,0)', 'decimal(12,9)'],
    by7: ['integer', 'decimal(9,3)'],
    byBillion: ['bigint', 'decimal(38,0)', 'decimal(10,2)'],
    dates: ['date', 'timestamp(3)', 'timestamp(12)', 'timestamp(6) with time zone'],
  },
  ['0001-01-01', '9999-12-31'],
)

/** Prints a value of a type; NULL if it does not fit into the type. */
function printCast(value: string, type: string): string {
  if (type.startsWith('decimal')) return `TRY_CAST('${value}' AS ${type})`
  if (WHOLE.some((whole) => whole === type))
    return `TRY_CAST(round(CAST('${value}' AS DECIMAL(38, 12))) AS ${type})`
  return type === 'date' ? `CAST('${value.slice(0, 10)}' AS date)` : `CAST('${value}' AS ${type})`
}

/** Tests that the conditions on the values in a table select what those on the stored values select. */
export function testComparisons(trino: Trino): void {
  /** The number of values for which the stored value and the source disagree on a condition, and that agree on TRUE. */
  const compare = async (
    declared: Column,
    type: string,
    values: readonly string[],
    predicates: readonly (readonly [ComparisonOf, string])[],
  ): Promise<readonly (readonly [number, number])[]> => {
    const { stored = '' } = trinoDialect.encode(declared, { type, sql: 't.v', notNull: false }) ?? {}
    const counts = predicates.flatMap(([predicate, onStored]) => {
      const source = { name: 'v', type, notNull: false, sql: 't.v' }
      const onSource = `coalesce(${printComparison(declared, source, predicate, trinoDialect.comparisons(source)) ?? 'no condition'}, FALSE)`
      const differs = `${onSource} <> coalesce(${onStored}, FALSE)`
      return [`count_if((v IS NULL OR stored IS NOT NULL) AND ${differs})`, `count_if(${onSource})`]
    })
    const table = `SELECT v, ${stored} AS stored FROM (VALUES ${[...values, 'NULL'].join(', ')}) AS t(v)`
    const [row = []] = await trino.query(`SELECT ${counts.join(', ')} FROM (${table}) AS t`)
    return predicates.map((_, i) => [Number(row[2 * i]), Number(row[2 * i + 1])] as const)
  }

  const cases = GRIDS.flatMap(([declared, types, values]) =>
    types
      // What a step of days does to the edges is the same for all types, and PostgreSQL's tests have all pairs.
      .filter((type) => declared.type !== 'date' || declared.stepNano === 7_000_000_000n || type === 'date')
      .map((type) => [type, declared.type, declared.stepNano, declared, values] as const),
  )
  it.each(cases)(
    'of type %s are those on the index of a %s with the step %i',
    async (type, _, __, declared, values) => {
      const { lowerIndex: lowest, upperIndex: highest } = declared
      const limits = [undefined, lowest - 1n, lowest, lowest + 1n, 0n, highest, highest + 1n, 2n ** 60n]
      // Each limit alone on either side, and with its neighbour: the condition treats its sides apart.
      const pairs = [
        ...limits.flatMap((limit) => [[limit, undefined] as const, [undefined, limit] as const]),
        ...limits.flatMap((lower, i) => limits.slice(i, i + 2).map((upper) => [lower, upper] as const)),
      ]
      const predicates = pairs.map(([lower, upper]): readonly [ComparisonOf, string] => {
        const bounds = {
          ...(lower === undefined ? {} : { lower }),
          ...(upper === undefined ? {} : { upper }),
        }
        const [least, most] = [lower ?? -(2n ** 62n), upper ?? 2n ** 62n]
        return [
          { kind: 'index-between', column: 'v', ...bounds },
          `stored >= BIGINT '${least}' AND stored <= BIGINT '${most}'`,
        ]
      })
      const printed = values.map((value) => printCast(value, type))
      const counts = await compare(declared, type, printed, predicates)
      expect(counts.map(([differences]) => differences)).toEqual(predicates.map(() => 0))
      // The conditions tell values apart.
      expect(new Set(counts.map(([, rows]) => rows)).size).toBeGreaterThan(1)
    },
  )

  it.each(['varchar', 'varchar(9)', 'char(3)'])(
    'of type %s are those on the index of a category',
    async (type) => {
      const values = ['a', 'A', 'b', '', 'a ', "c''\\", 'é'].map((text) => `CAST('${text}' AS ${type})`)
      const declared = column.category('v', ['b', 'a', 'a ', "c'\\", '', 'é'])
      const sets = [[], [0], [1], [2], [1, 3], [0, 1, 2, 3, 4, 5]]
      const counts = await compare(
        declared,
        type,
        values,
        sets.map((indexes) => [
          { kind: 'category-in', column: 'v', indexes },
          indexes.length === 0 ? 'FALSE' : `stored IN (${indexes.join(', ')})`,
        ]),
      )
      expect(counts.map(([differences]) => differences)).toEqual(sets.map(() => 0))
      expect(counts.at(-1)?.[1]).toBeGreaterThan(3)
    },
  )
}
