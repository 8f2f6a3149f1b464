import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Column, Dataset } from '../../src/core/dataset/dataset.ts'
import {
  type Aggregate,
  type Bounding,
  type GroupKey,
  LARGEST_SQUARED_INDEX,
  type Predicate,
  type Statistic,
  type ValueCounting,
} from '../../src/core/planner/language/aggregate.ts'
import { duckDbDialect } from '../../src/engines/duckdb/dialect.ts'
import type { PrintedStatement } from '../../src/engines/printing/printer.ts'
import { printAggregate, printIndexCounting, printTextCounting } from '../../src/engines/sql-printer.ts'
import { readAggregate } from '../../src/engines/sql-result.ts'
import { column, datasetOf } from './fixture.ts'
import { peopleDataset } from './people-table.ts'

const dataset = datasetOf([
  column.integer('Age', 0n, 120n),
  column.category('Sex', ['M', 'F']),
  column.boolean('Married'),
  column.string('Name'),
  column.string('a "quoted" name; --'),
])

const aggregate = (given: Partial<Aggregate>): Aggregate => ({
  groupBy: [],
  statistics: [{ kind: 'count' }],
  bounding: { kind: 'one-row-each' },
  ...given,
})

const print = (given: Partial<Aggregate>) => printAggregate(aggregate(given), dataset, duckDbDialect)
/** A statement with the values of its parameters and the number of its cells. */
const textOf = ({ sql, parameters, cells = 1 }: PrintedStatement & { readonly cells?: number }) =>
  [
    sql,
    ...(parameters.length > 0 ? [`of ${parameters.map((each) => inspect(each)).join(', ')}`] : []),
    ...(cells > 1 ? [`in ${cells} cells`] : []),
  ].join(' ')
const printWhere = (where: Predicate) => print({ where })
const sex: GroupKey = { kind: 'category', column: 'Sex', size: 2, nullCell: false }
const binsOf = (edges: readonly bigint[], nullCell = false): GroupKey => ({
  kind: 'bins',
  column: 'Age',
  edges,
  nullCell,
})

describe('the text of an aggregate', () => {
  it('counts', () => {
    expect(textOf(print({}))).toMatchInlineSnapshot(`"SELECT CAST(count(*) AS VARCHAR) FROM "rows""`)
  })

  it('counts with a plain comparison as the filter, which DuckDB vectorises', () => {
    expect(textOf(printWhere({ kind: 'index-between', column: 'Age', lower: 30n }))).toMatchInlineSnapshot(
      `"SELECT CAST(count(*) AS VARCHAR) FROM "rows" WHERE ("Age" >= $1::BIGINT) of 30n"`,
    )
  })

  it('is two-valued only under NOT', () => {
    expect(
      textOf(
        printWhere({
          kind: 'or',
          predicates: [
            {
              kind: 'not',
              predicate: { kind: 'string-in', column: 'Name', values: ['x', "y' OR true; --"] },
            },
            {
              kind: 'and',
              predicates: [
                { kind: 'boolean-is', column: 'Married', value: true },
                { kind: 'category-in', column: 'Sex', indexes: [1] },
                { kind: 'index-in', column: 'Age', indexes: [1n, 2n] },
                { kind: 'is-null', column: 'Age' },
              ],
            },
          ],
        }),
      ),
    ).toMatchInlineSnapshot(
      `"SELECT CAST(count(*) AS VARCHAR) FROM "rows" WHERE ((("Name" IN ($1::VARCHAR, $2::VARCHAR)) IS NOT TRUE) OR (("Married" = $3::BOOLEAN) AND ("Sex" IN ($4::INTEGER)) AND ("Age" IN ($5::BIGINT, $6::BIGINT)) AND ("Age" IS NULL))) of 'x', "y' OR true; --", true, 1n, 1n, 2n"`,
    )
  })

  it('sums and leaves the affine part to exact integers', () => {
    const statistics = [
      { kind: 'affine-sum', column: 'Age', factor: 2n ** 100n, offset: -5n },
      { kind: 'count', column: 'Age' },
    ] as const
    expect(textOf(print({ statistics }))).toMatchInlineSnapshot(
      `"SELECT CAST(coalesce(sum("Age"), 0) AS VARCHAR), CAST(count("Age") AS VARCHAR), CAST(count("Age") AS VARCHAR) FROM "rows""`,
    )
  })

  it('counts the rows for which a predicate holds', () => {
    const where: Predicate = { kind: 'index-in', column: 'Age', indexes: [1n, 2n] }
    const statistics = [
      { kind: 'count', where },
      { kind: 'count', column: 'Name', where },
    ] as const
    expect(textOf(print({ statistics }))).toMatchInlineSnapshot(
      `"SELECT CAST(coalesce(count_if(("Age" IN ($1::BIGINT, $2::BIGINT))), 0) AS VARCHAR), CAST(coalesce(count_if("Name" IS NOT NULL AND ("Age" IN ($3::BIGINT, $4::BIGINT))), 0) AS VARCHAR) FROM "rows" of 1n, 2n, 1n, 2n"`,
    )
  })

  it('squares and leaves the affine part to exact integers', () => {
    const statistics = [
      { kind: 'affine-square-sum', column: 'Age', factor: 2n ** 100n, offset: -5n },
    ] as const
    expect(textOf(print({ statistics }))).toMatchInlineSnapshot(
      `"SELECT CAST(coalesce(sum((CAST("Age" AS BIGINT) * CAST("Age" AS BIGINT))), 0) AS VARCHAR), CAST(coalesce(sum("Age"), 0) AS VARCHAR), CAST(count("Age") AS VARCHAR) FROM "rows""`,
    )
  })

  it('squares in 64 bits if every square fits, and in 128 otherwise', () => {
    const squareOf = (lower: bigint, upper: bigint) =>
      printAggregate(
        aggregate({ statistics: [{ ...square, column: 'x' }] }),
        datasetOf([column.integer('x', lower, upper)]),
        duckDbDialect,
      ).sql
    const square = { kind: 'affine-square-sum', factor: 1n, offset: 0n } as const
    const few = 2n ** 31n
    const many = LARGEST_SQUARED_INDEX
    for (const [lower, upper] of [
      [-few, few],
      [0n, few],
      [-few, -few],
    ] as const)
      expect(squareOf(lower, upper)).toContain('sum((CAST("x" AS BIGINT) * CAST("x" AS BIGINT)))')
    for (const [lower, upper] of [
      [-few - 1n, 0n],
      [few + 1n, few + 1n],
      [-many, many],
    ] as const)
      expect(squareOf(lower, upper)).toContain('sum((CAST("x" AS HUGEINT) * CAST("x" AS HUGEINT)))')
    expect(() => squareOf(-many - 1n, 0n)).toThrow(RangeError)
    expect(() => squareOf(0n, many + 1n)).toThrow(RangeError)
  })

  it('counts the cells that have rows', () => {
    const distinct = (of: GroupKey) => print({ statistics: [{ kind: 'count-distinct', of }] })
    expect(textOf(distinct({ ...sex, nullCell: true }))).toMatchInlineSnapshot(
      `"SELECT CAST(count(DISTINCT coalesce("Sex", 2)) AS VARCHAR) FROM "rows""`,
    )
    expect(textOf(distinct(binsOf([0n, 10n, 20n])))).toMatchInlineSnapshot(
      `"SELECT CAST(count(DISTINCT CASE WHEN "Age" >= $1::BIGINT AND "Age" < $2::BIGINT THEN (("Age" - $1::BIGINT) // $3::BIGINT) END) AS VARCHAR) FROM "rows" of 0n, 20n, 10n"`,
    )
  })

  it('separates the rows for which a predicate holds from all others', () => {
    const groupBy: readonly GroupKey[] = [
      sex,
      { kind: 'predicate', predicate: { kind: 'index-between', column: 'Age', upper: 17n } },
    ]
    expect(textOf(print({ groupBy }))).toMatchInlineSnapshot(
      `"SELECT CAST(("Sex" * 2 + CASE WHEN ("Age" <= $1::BIGINT) THEN 1 ELSE 0 END) AS VARCHAR), CAST(count(*) AS VARCHAR) FROM "rows" WHERE "Sex" IS NOT NULL GROUP BY ("Sex" * 2 + CASE WHEN ("Age" <= $1::BIGINT) THEN 1 ELSE 0 END) of 17n in 4 cells"`,
    )
  })

  it('numbers cells row by row, the last key fastest', () => {
    const groupBy: readonly GroupKey[] = [
      sex,
      { kind: 'boolean', column: 'Married', nullCell: true },
      binsOf([0n, 10n, 20n, 30n]),
    ]
    expect(textOf(print({ groupBy }))).toMatchInlineSnapshot(
      `"SELECT CAST((("Sex" * 3 + coalesce(CAST("Married" AS INTEGER), 2)) * 3 + (("Age" - $1::BIGINT) // $3::BIGINT)) AS VARCHAR), CAST(count(*) AS VARCHAR) FROM "rows" WHERE "Sex" IS NOT NULL AND "Age" >= $1::BIGINT AND "Age" < $2::BIGINT GROUP BY (("Sex" * 3 + coalesce(CAST("Married" AS INTEGER), 2)) * 3 + (("Age" - $1::BIGINT) // $3::BIGINT)) of 0n, 30n, 10n in 18 cells"`,
    )
  })

  it('searches irregular bins by bisection', () => {
    expect(textOf(print({ groupBy: [binsOf([0n, 5n, 18n, 65n, 121n], true)] }))).toMatchInlineSnapshot(
      `"SELECT CAST(CASE WHEN "Age" IS NULL THEN 4 ELSE CASE WHEN "Age" < $4::BIGINT THEN CASE WHEN "Age" < $3::BIGINT THEN 0 ELSE 1 END ELSE CASE WHEN "Age" < $5::BIGINT THEN 2 ELSE 3 END END END AS VARCHAR), CAST(count(*) AS VARCHAR) FROM "rows" WHERE ("Age" IS NULL OR ("Age" >= $1::BIGINT AND "Age" < $2::BIGINT)) GROUP BY CASE WHEN "Age" IS NULL THEN 4 ELSE CASE WHEN "Age" < $4::BIGINT THEN CASE WHEN "Age" < $3::BIGINT THEN 0 ELSE 1 END ELSE CASE WHEN "Age" < $5::BIGINT THEN 2 ELSE 3 END END END of 0n, 121n, 5n, 18n, 65n in 5 cells"`,
    )
  })

  it('quotes names', () => {
    const where = { kind: 'is-null', column: 'a "quoted" name; --' } as const
    expect(printWhere(where).sql).toMatchInlineSnapshot(
      `"SELECT CAST(count(*) AS VARCHAR) FROM "rows" WHERE ("a ""quoted"" name; --" IS NULL)"`,
    )
  })

  it('is the same for all values of a shape', () => {
    const shapes: readonly ((seed: bigint) => Partial<Aggregate>)[] = [
      (seed) => ({ where: { kind: 'index-between', column: 'Age', lower: seed, upper: seed * 7n } }),
      (seed) => ({ where: { kind: 'index-in', column: 'Age', indexes: [seed, -seed, 10n ** 40n * seed] } }),
      (seed) => ({ where: { kind: 'string-in', column: 'Name', values: [`${seed}`, `'${seed}`] } }),
      (seed) => ({ where: { kind: 'boolean-is', column: 'Married', value: seed > 3n } }),
      (seed) => ({ where: { kind: 'category-in', column: 'Sex', indexes: [Number(seed % 2n)] } }),
      (seed) => ({ groupBy: [binsOf([0n, seed, 2n * seed])] }),
      (seed) => ({ groupBy: [binsOf([0n, seed, 2n * seed + 1n])] }),
      (seed) => ({ statistics: [{ kind: 'affine-sum', column: 'Age', factor: seed, offset: -seed }] }),
      (seed) => ({ statistics: [{ kind: 'affine-square-sum', column: 'Age', factor: seed, offset: -seed }] }),
      (seed) => ({
        statistics: [{ kind: 'count', where: { kind: 'index-in', column: 'Age', indexes: [seed] } }],
      }),
      (seed) => ({ statistics: [{ kind: 'count-distinct', of: binsOf([0n, seed, 2n * seed]) }] }),
      (seed) => ({
        groupBy: [
          { kind: 'predicate', predicate: { kind: 'string-in', column: 'Name', values: [`'${seed}`] } },
        ],
      }),
    ]
    for (const shape of shapes) {
      expect(print(shape(2n)).sql).toBe(print(shape(5n)).sql)
    }
  })

  it('prints constants for empty conjunctions, disjunctions and lists', () => {
    expect(printWhere({ kind: 'and', predicates: [] }).sql).toContain('WHERE true')
    expect(printWhere({ kind: 'or', predicates: [] }).sql).toContain('WHERE false')
    expect(printWhere({ kind: 'index-in', column: 'Age', indexes: [] }).sql).toContain('WHERE false')
    expect(printWhere({ kind: 'index-between', column: 'Age' }).sql).toContain('WHERE ("Age" IS NOT NULL)')
  })

  it.each<[string, Partial<Aggregate>]>([
    ['a column the dataset does not have', { where: { kind: 'is-null', column: 'age' } }],
    ['a statistic of no column', { statistics: [{ kind: 'count', column: 'Other' }] }],
    ['a sum of categories', { statistics: [{ kind: 'affine-sum', column: 'Sex', factor: 1n, offset: 0n }] }],
    [
      'a sum of squared categories',
      { statistics: [{ kind: 'affine-square-sum', column: 'Sex', factor: 1n, offset: 0n }] },
    ],
    [
      'a count under a condition on no column',
      { statistics: [{ kind: 'count', where: { kind: 'is-null', column: 'Other' } }] },
    ],
    [
      'a distinct count with another number of cells',
      { statistics: [{ kind: 'count-distinct', of: { ...sex, size: 1 } }] },
    ],
    [
      'a predicate as a key on no column',
      { groupBy: [{ kind: 'predicate', predicate: { kind: 'is-null', column: 'Other' } }] },
    ],
    ['numbers compared with a text', { where: { kind: 'string-in', column: 'Age', values: ['1'] } }],
    ['a text compared with numbers', { where: { kind: 'index-in', column: 'Name', indexes: [1n] } }],
    [
      'a key that is no category',
      { groupBy: [{ kind: 'category', column: 'Age', size: 2, nullCell: false }] },
    ],
    ['a key of another size', { groupBy: [{ ...sex, size: 3 }] }],
    ['a category between two', { where: { kind: 'category-in', column: 'Sex', indexes: [0.5] } }],
    ['a category beyond 32 bits', { where: { kind: 'category-in', column: 'Sex', indexes: [2 ** 31] } }],
    ['bins without edges', { groupBy: [binsOf([])] }],
    ['bins of one edge', { groupBy: [binsOf([1n])] }],
    ['bins whose edges do not increase', { groupBy: [binsOf([0n, 2n, 2n])] }],
    ['bins of equal width, downwards', { groupBy: [binsOf([2n, 1n, 0n])] }],
    ['bins too far from 0', { groupBy: [binsOf([0n, 2n ** 62n])] }],
    ['too many cells', { groupBy: Array.from({ length: 31 }, () => sex) }],
  ])('is refused for %s', (_, given) => {
    expect(() => print(given)).toThrow(RangeError)
  })
})

describe('the text of an aggregate over the rows of people', () => {
  const ofPeople = peopleDataset(
    [
      column.integer('Age', 0n, 120n),
      { ...column.category('Sex', ['M', 'F'], { nullable: false }), constantPerPerson: true } as Column,
      { ...column.boolean('Married'), constantPerPerson: true } as Column,
      column.category('Ward', ['A', 'B'], { nullable: false }),
      column.string('Name'),
    ],
    'people',
    20,
  )
  const printPeople = (given: Partial<Aggregate>) =>
    printAggregate(aggregate({ bounding: { kind: 'rows', rows: 20 }, ...given }), ofPeople, duckDbDialect).sql
  const ward: GroupKey = { kind: 'category', column: 'Ward', size: 2, nullCell: false }
  const adults: Predicate = { kind: 'index-between', column: 'Age', lower: 18n }
  const married: Predicate = { kind: 'boolean-is', column: 'Married', value: true }
  const rows = (rows: number): Bounding => ({ kind: 'rows', rows })
  const groups = (groups: number, rowsPerGroup: number): Bounding => ({
    kind: 'groups',
    groups,
    rowsPerGroup,
  })
  const people = { kind: 'count-people' } as const

  it.each<[string, Partial<Aggregate>]>([
    ['as many rows as are stored', { where: adults, groupBy: [ward] }],
    ['more rows than are stored', { where: adults, groupBy: [ward], bounding: rows(21) }],
    ['more rows in every group', { where: adults, groupBy: [ward], bounding: groups(2, 20) }],
    ['groups that are constant per person', { where: adults, groupBy: [sex], bounding: groups(1, 20) }],
    ['people in one cell', { where: adults, statistics: [people], bounding: rows(1) }],
    [
      'people in groups of which all count',
      { groupBy: [ward], statistics: [people], bounding: groups(2, 1) },
    ],
    [
      'people in groups that are constant per person',
      { groupBy: [sex], statistics: [people], bounding: rows(3) },
    ],
  ])('leaves out nothing for %s', (_, given) => {
    expect(printPeople(given)).not.toMatch(/sotto_rank|OVER/)
  })

  it.each<[string, Partial<Aggregate>]>([
    ['without conditions', { bounding: rows(3) }],
    ['with groups that every row is in', { groupBy: [ward], bounding: rows(3) }],
    ['with groups that are constant per person', { groupBy: [sex], bounding: rows(3) }],
    ['in each of such groups', { groupBy: [sex], bounding: groups(1, 3) }],
    [
      'with a condition that is constant per person',
      { where: { kind: 'not', predicate: married }, bounding: rows(3) },
    ],
  ])('needs only the rank %s', (_, given) => {
    expect(printPeople(given)).toContain('"sotto_rank" <= ')
    expect(printPeople(given)).not.toContain('OVER')
  })

  it.each<[string, Partial<Aggregate>]>([
    ['a condition', { where: adults, bounding: rows(3) }],
    [
      'a condition of which a part is constant',
      { where: { kind: 'and', predicates: [married, adults] }, bounding: rows(3) },
    ],
    ['a key that leaves out rows', { groupBy: [binsOf([0n, 10n, 20n])], bounding: rows(3) }],
    ['rows of groups that are not constant', { groupBy: [ward], bounding: groups(2, 3) }],
    ['fewer groups', { groupBy: [ward], bounding: groups(1, 20) }],
    ['people in fewer groups', { groupBy: [ward], statistics: [people], bounding: groups(1, 1) }],
  ])('numbers the rows of each person for %s', (_, given) => {
    expect(printPeople(given)).toContain('OVER (PARTITION BY "sotto_person"')
  })

  it('bounds rows after the condition and before anything is added up', () => {
    expect(printPeople({ where: adults, groupBy: [ward], bounding: rows(3) })).toMatchInlineSnapshot(
      `"SELECT CAST("Ward" AS VARCHAR), CAST(count(*) AS VARCHAR) FROM (SELECT *, rank() OVER (PARTITION BY "sotto_person" ORDER BY "sotto_rank") AS "sotto_place" FROM "rows" WHERE "Ward" IS NOT NULL AND ("Age" >= $1::BIGINT)) AS sotto_rows WHERE "sotto_place" <= $2::BIGINT GROUP BY "Ward""`,
    )
  })

  it('bounds groups by their lowest rank', () => {
    expect(printPeople({ groupBy: [ward], bounding: groups(1, 3) })).toMatchInlineSnapshot(
      `"SELECT CAST("sotto_cell" AS VARCHAR), CAST(count(*) AS VARCHAR) FROM (SELECT *, dense_rank() OVER (PARTITION BY "sotto_person" ORDER BY "sotto_first") AS "sotto_group" FROM (SELECT *, rank() OVER (PARTITION BY "sotto_person", "sotto_cell" ORDER BY "sotto_rank") AS "sotto_place_in_group", min("sotto_rank") OVER (PARTITION BY "sotto_person", "sotto_cell" ORDER BY "sotto_rank") AS "sotto_first" FROM (SELECT *, "Ward" AS "sotto_cell" FROM "rows" WHERE "Ward" IS NOT NULL) AS sotto_cells) AS sotto_placed WHERE "sotto_place_in_group" <= $1::BIGINT) AS sotto_groups WHERE "sotto_group" <= $2::BIGINT GROUP BY "sotto_cell""`,
    )
  })

  it('adds up one value for each person', () => {
    const perPerson = { kind: 'mean', column: 'Age', lower: 0n, upper: 90n } as const
    expect(
      printPeople({
        statistics: [{ kind: 'affine-sum', perPerson, factor: 1n, offset: 0n }, { kind: 'count' }],
      }),
    ).toMatchInlineSnapshot(
      `"SELECT CAST(coalesce(sum("sotto_value0"), 0) AS VARCHAR), CAST(count("sotto_value0") AS VARCHAR), CAST(coalesce(sum("sotto_value1"), 0) AS VARCHAR) FROM (SELECT "sotto_person", CAST(CASE WHEN ($1::BIGINT + ((2 * (sum("Age") - count("Age") * CAST($1::BIGINT AS HUGEINT)) + count("Age")) // (2 * nullif(count("Age"), 0)))) < $2::BIGINT THEN $2::BIGINT WHEN ($1::BIGINT + ((2 * (sum("Age") - count("Age") * CAST($1::BIGINT AS HUGEINT)) + count("Age")) // (2 * nullif(count("Age"), 0)))) > $3::BIGINT THEN $3::BIGINT ELSE ($1::BIGINT + ((2 * (sum("Age") - count("Age") * CAST($1::BIGINT AS HUGEINT)) + count("Age")) // (2 * nullif(count("Age"), 0)))) END AS BIGINT) AS "sotto_value0", count(*) AS "sotto_value1" FROM "rows" GROUP BY "sotto_person") AS sotto_people"`,
    )
  })

  it('joins statistics of people and of rows by cell', () => {
    const perPerson = { kind: 'count', lower: 0n, upper: 20n } as const
    expect(
      printPeople({
        groupBy: [ward],
        statistics: [
          { kind: 'count-distinct', of: sex },
          { kind: 'affine-sum', perPerson, factor: 1n, offset: 0n },
        ],
      }),
    ).toMatchInlineSnapshot(
      `"SELECT CAST("sotto_result_cell" AS VARCHAR), "sotto_column0", "sotto_column1", "sotto_column2" FROM (SELECT "Ward" AS "sotto_result_cell", CAST(count(DISTINCT CASE WHEN "Sex" IS NOT NULL THEN "Sex" END) AS VARCHAR) AS "sotto_column0" FROM "rows" WHERE "Ward" IS NOT NULL GROUP BY "Ward") AS sotto_source0 JOIN (SELECT "sotto_people_cell" AS "sotto_result_cell", CAST(coalesce(sum("sotto_value0"), 0) AS VARCHAR) AS "sotto_column1", CAST(count("sotto_value0") AS VARCHAR) AS "sotto_column2" FROM (SELECT "Ward" AS "sotto_people_cell", "sotto_person", CAST(CASE WHEN count(*) < $1::BIGINT THEN $1::BIGINT WHEN count(*) > $2::BIGINT THEN $2::BIGINT ELSE count(*) END AS BIGINT) AS "sotto_value0" FROM "rows" WHERE "Ward" IS NOT NULL GROUP BY "Ward", "sotto_person") AS sotto_people GROUP BY "sotto_people_cell") AS sotto_source1 USING ("sotto_result_cell")"`,
    )
  })

  it('is the same for all limits of a shape', () => {
    for (const bounding of [rows, (limit: number) => groups(1, limit)]) {
      const print = (limit: number) =>
        printPeople({ where: adults, groupBy: [ward], bounding: bounding(limit) })
      expect(print(2)).toBe(print(5))
    }
  })

  it.each<[string, Dataset, Partial<Aggregate>]>([
    ['rows without bounding', ofPeople, { bounding: { kind: 'one-row-each' } }],
    ['bounding of rows that are people', dataset, { bounding: rows(2) }],
    ['no rows', ofPeople, { bounding: rows(0) }],
    ['half a row', ofPeople, { bounding: rows(1.5) }],
    ['no groups', ofPeople, { groupBy: [ward], bounding: groups(0, 1) }],
    [
      'values per person where rows are people',
      dataset,
      {
        statistics: [
          { kind: 'affine-sum', perPerson: { kind: 'count', lower: 0n, upper: 1n }, factor: 1n, offset: 0n },
        ],
      },
    ],
    [
      'reversed clamping bounds',
      ofPeople,
      {
        bounding: rows(2),
        statistics: [
          { kind: 'affine-sum', perPerson: { kind: 'count', lower: 2n, upper: 1n }, factor: 1n, offset: 0n },
        ],
      },
    ],
    [
      'squares of large totals',
      ofPeople,
      {
        bounding: rows(2),
        statistics: [
          {
            kind: 'affine-square-sum',
            perPerson: { kind: 'sum', column: 'Age', lower: 0n, upper: 2n ** 46n },
            factor: 1n,
            offset: 0n,
          },
        ],
      },
    ],
    [
      'distinct values in groups',
      ofPeople,
      {
        groupBy: [ward],
        bounding: rows(2),
        statistics: [{ kind: 'count-distinct-values', column: 'Name', valuesEach: 1 }],
      },
    ],
  ])('is refused for %s', (_, given, part) => {
    expect(() => printAggregate(aggregate(part), given, duckDbDialect)).toThrow(RangeError)
  })

  describe('of counts of values', () => {
    const count = (given: Partial<ValueCounting>) =>
      printIndexCounting(
        { column: 'Age', bounding: rows(20), ...given } as ValueCounting,
        ofPeople,
        duckDbDialect,
        100,
      ).sql

    it('counts people without bounding where all rows count', () => {
      expect(count({ people: true })).toContain('count(DISTINCT "sotto_person")')
      expect(count({ people: true })).not.toMatch(/sotto_rank|OVER/)
    })

    it('counts rows where each person has one for each value', () => {
      expect(count({ people: true, bounding: groups(3, 1) })).toContain('CAST(count(*) AS DOUBLE)')
    })

    it('numbers the rows that have a value', () => {
      expect(count({ bounding: rows(3) })).toContain('WHERE "Age" IS NOT NULL) AS sotto_rows')
    })

    it('is refused for values per person that doubles cannot hold', () => {
      const values = (upper: bigint): Partial<ValueCounting> => {
        return { column: undefined, perPerson: { kind: 'sum', column: 'Age', lower: 0n, upper } }
      }
      expect(count(values(2n ** 53n))).toContain('GROUP BY "sotto_person"')
      expect(() => count(values(2n ** 53n + 1n))).toThrow(RangeError)
    })
  })
})

describe('the text of a counting of values', () => {
  const counting = (column: string, where?: Predicate) => ({
    column,
    bounding: { kind: 'one-row-each' } as const,
    ...(where === undefined ? {} : { where }),
  })
  const young: Predicate = { kind: 'index-between', column: 'Age', upper: 17n }

  it('counts indexes, in order', () => {
    expect(textOf(printIndexCounting(counting('Age'), dataset, duckDbDialect, 100))).toMatchInlineSnapshot(
      `"SELECT CAST("Age" AS DOUBLE), CAST(count(*) AS DOUBLE) FROM "rows" WHERE "Age" IS NOT NULL GROUP BY "Age" ORDER BY "Age" LIMIT 100"`,
    )
    expect(
      textOf(printIndexCounting(counting('Age', young), dataset, duckDbDialect, 100)),
    ).toMatchInlineSnapshot(
      `"SELECT CAST("Age" AS DOUBLE), CAST(count(*) AS DOUBLE) FROM "rows" WHERE "Age" IS NOT NULL AND ("Age" <= $1::BIGINT) GROUP BY "Age" ORDER BY "Age" LIMIT 100 of 17n"`,
    )
  })

  it('counts texts', () => {
    expect(textOf(printTextCounting(counting('Name'), dataset, duckDbDialect, 100))).toMatchInlineSnapshot(
      `"SELECT CASE WHEN starts_with("Name", chr(65279)) THEN chr(65279) || "Name" ELSE "Name" END, CAST(count(*) AS DOUBLE) FROM "rows" WHERE "Name" IS NOT NULL GROUP BY "Name" LIMIT 100"`,
    )
    expect(
      textOf(printTextCounting(counting('a "quoted" name; --', young), dataset, duckDbDialect, 100)),
    ).toMatchInlineSnapshot(
      `"SELECT CASE WHEN starts_with("a ""quoted"" name; --", chr(65279)) THEN chr(65279) || "a ""quoted"" name; --" ELSE "a ""quoted"" name; --" END, CAST(count(*) AS DOUBLE) FROM "rows" WHERE "a ""quoted"" name; --" IS NOT NULL AND ("Age" <= $1::BIGINT) GROUP BY "a ""quoted"" name; --" LIMIT 100 of 17n"`,
    )
  })

  it.each(['Sex', 'Married', 'Name', 'Other'])('is refused for indexes of %s', (name) => {
    expect(() => printIndexCounting(counting(name), dataset, duckDbDialect, 100)).toThrow(RangeError)
  })

  it.each(['Sex', 'Married', 'Age', 'Other'])('is refused for texts of %s', (name) => {
    expect(() => printTextCounting(counting(name), dataset, duckDbDialect, 100)).toThrow(RangeError)
  })

  it('is refused for a condition that does not fit', () => {
    const where: Predicate = { kind: 'string-in', column: 'Age', values: ['x'] }
    expect(() => printIndexCounting(counting('Age', where), dataset, duckDbDialect, 100)).toThrow(RangeError)
    expect(() => printTextCounting(counting('Name', where), dataset, duckDbDialect, 100)).toThrow(RangeError)
  })
})

describe('the result of an aggregate', () => {
  const sums = aggregate({
    groupBy: [sex],
    statistics: [{ kind: 'count' }, { kind: 'affine-sum', column: 'Age', factor: 10n ** 30n, offset: -7n }],
  })

  it('fills cells without rows with zeros', () => {
    const rows = [['1', '3', '-12345678901234567890123456789012345678', '2']]
    expect(readAggregate(sums, 2, rows)).toEqual([
      [0n, 3n],
      [0n, 10n ** 30n * -12345678901234567890123456789012345678n - 14n],
    ])
  })

  it('combines sums of squares, sums and counts', () => {
    const [factor, offset] = [10n ** 30n, -7n]
    const squares: Statistic = { kind: 'affine-square-sum', column: 'Age', factor, offset }
    const given = aggregate({
      statistics: [
        squares,
        { kind: 'count-distinct', of: sex },
        { kind: 'count', where: { kind: 'or', predicates: [] } },
      ],
    })
    // Indexes 3, -4 and 10.
    const expected = [3n, -4n, 10n].reduce((sum, index) => sum + (factor * index + offset) ** 2n, 0n)
    expect(readAggregate(given, 1, [['125', '9', '3', '2', '0']])).toEqual([[expected], [2n], [0n]])
    for (const row of [['125', '9', '3', '2'], ['125', '9', '3', '2', '0', '0'], ['125', '9'], []])
      expect(() => readAggregate(given, 1, [row])).toThrow(RangeError)
  })

  it.each<[string, readonly unknown[]]>([
    ['a number', ['0', '1', 1, '1']],
    ['NULL', ['0', '1', null, '1']],
    ['a fraction', ['0', '1', '1.5', '1']],
    ['an exponent', ['0', '1', '1e3', '1']],
    ['an empty text', ['0', '1', '', '1']],
    ['too many digits', ['0', '1', '1'.repeat(39), '1']],
    ['a cell outside', ['2', '1', '1', '1']],
    ['a negative cell', ['-1', '1', '1', '1']],
    ['a column too few', ['0', '1', '1']],
    ['a column too many', ['0', '1', '1', '1', '1']],
  ])('is refused for %s', (_, row) => {
    expect(() => readAggregate(sums, 2, [row])).toThrow(RangeError)
  })
})
