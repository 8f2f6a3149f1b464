import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Column } from '../../../src/core/dataset/dataset.ts'
import type { Aggregate, Predicate } from '../../../src/core/planner/language/aggregate.ts'
import { postgresDialect } from '../../../src/engines/postgres/dialect.ts'
import { openPostgresTables } from '../../../src/engines/postgres/engine.ts'
import { printComparison } from '../../../src/engines/tables/comparisons.ts'
import type { TableEngine } from '../../../src/engines/tables/table-engine.ts'
import { describePostgres } from '../../servers/postgres.ts'
import { comparisonGrids } from '../comparison-grids.ts'
import { column, datasetOf } from '../fixture.ts'
import { connectionOf } from './tables.ts'

const refuse = { nullable: false, invalidValue: { kind: 'refuse' } } as const

const GRIDS = comparisonGrids(
  {
    hundredths: ['numeric', 'numeric(15,2)', 'numeric(20,12)', 'integer'],
    nanos: ['numeric', 'numeric(20,12)'],
    threeHundredths: ['numeric', 'numeric(20,12)', 'bigint', 'smallint'],
    by250: ['smallint', 'integer', 'bigint', 'numeric', 'numeric(5,0)', 'numeric(7,-2)'],
    by7: ['smallint', 'integer', 'bigint', 'numeric', 'numeric(9,3)'],
    byBillion: ['bigint', 'numeric'],
    dates: ['date', 'timestamp without time zone', 'timestamp with time zone'],
  },
  ['infinity', '-infinity', '4713-01-01 BC', '0001-01-01'],
)

describePostgres('conditions on the values in a table', ({ createDatabase }) => {
  let admin: Client
  let engine: TableEngine
  beforeAll(async () => {
    const url = await createDatabase()
    admin = new Client(url)
    await admin.connect()
    await admin.query("SET timezone = 'UTC'")
    engine = openPostgresTables(connectionOf(url))
  })
  afterAll(async () => {
    await engine.close()
    await admin.end()
  })

  /** The number of values for which the stored value and the source disagree on a condition, and that agree on TRUE. */
  const compare = async (
    declared: Column,
    type: string,
    predicates: readonly (readonly [Predicate, string])[],
  ): Promise<readonly (readonly [number, number])[]> => {
    const source = { name: 'v', type, notNull: false, sql: 't.v' }
    const stored = postgresDialect.encode(declared, source)?.stored ?? ''
    const counts = predicates.map(([predicate, onStored]) => {
      if (predicate.kind !== 'index-between' && predicate.kind !== 'category-in')
        throw new Error('no comparison')
      const onSource =
        printComparison(declared, source, predicate, postgresDialect.comparisons(source)) ?? 'no condition'
      const fits = `(${stored}) IS NOT NULL`
      return (
        `count(*) FILTER (WHERE (t.v IS NULL OR ${fits}) AND ((${onSource}) IS TRUE) <> ((${onStored.replaceAll('$', `(${stored})`)}) IS TRUE)), ` +
        `count(*) FILTER (WHERE ${fits} AND (${onSource}))`
      )
    })
    const { rows } = await admin.query({ text: `SELECT ${counts.join(', ')} FROM t`, rowMode: 'array' })
    const [row = []] = rows as readonly (readonly string[])[]
    return predicates.map((_, i) => [Number(row[2 * i]), Number(row[2 * i + 1])] as const)
  }

  const cases = GRIDS.flatMap(([declared, types, values]) =>
    types.map((type) => [type, declared.type, declared.stepNano, declared, values] as const),
  )
  it.each(cases)(
    'of type %s are those on the index of a %s with the step %i',
    async (type, _, __, declared, values) => {
      await admin.query(`CREATE TEMPORARY TABLE t (v ${type})`)
      try {
        const special =
          type === 'numeric'
            ? ['NaN', 'Infinity', '-Infinity', '1e300']
            : type.startsWith('numeric(')
              ? ['NaN']
              : []
        const isWhole = type.endsWith('int') || type === 'integer'
        const all = [...values, ...special].map((value) => (isWhole ? `${value}::numeric` : value))
        for (const value of all) {
          const text = isWhole ? `round('${value.split('::')[0]}'::numeric)` : `'${value}'`
          // Not every value fits into every type.
          await admin.query(`INSERT INTO t VALUES ((${text})::${type})`).catch(() => undefined)
        }
        await admin.query('INSERT INTO t VALUES (NULL)')
        const { lowerIndex: lowest, upperIndex: highest } = declared
        const limits = [
          undefined,
          lowest - 1n,
          lowest,
          lowest + 1n,
          -1n,
          0n,
          1n,
          highest,
          highest + 1n,
          2n ** 60n,
        ]
        const predicates = limits.flatMap((lower) =>
          limits.map((upper): readonly [Predicate, string] => {
            const bounds = {
              ...(lower === undefined ? {} : { lower }),
              ...(upper === undefined ? {} : { upper }),
            }
            const onStored = `$ >= ${lower ?? -(2n ** 62n)} AND $ <= ${upper ?? 2n ** 62n}`
            return [{ kind: 'index-between', column: 'v', ...bounds }, onStored]
          }),
        )
        const counts = await compare(declared, type, predicates)
        expect(counts.map(([differences]) => differences)).toEqual(predicates.map(() => 0))
        // The conditions tell values apart.
        expect(new Set(counts.map(([, rows]) => rows)).size).toBeGreaterThan(1)
      } finally {
        await admin.query('DROP TABLE t')
      }
    },
  )

  it.each(['text', 'character varying(9)', 'character(3)'])(
    'of type %s are those on the index of a category',
    async (type) => {
      await admin.query(`CREATE TEMPORARY TABLE t (v ${type} COLLATE "C")`)
      try {
        await admin.query(`INSERT INTO t VALUES ('a'), ('A'), ('b'), (''), ('a '), (NULL), ('c''\\')`)
        const declared = column.category('v', ['b', 'a', 'a ', "c'\\", ''])
        const sets = [[], [0], [1], [2], [1, 3], [0, 1, 2, 3, 4]]
        const counts = await compare(
          declared,
          type,
          sets.map((indexes) => [
            { kind: 'category-in', column: 'v', indexes },
            indexes.length === 0 ? 'FALSE' : `$ IN (${indexes.join(', ')})`,
          ]),
        )
        expect(counts.map(([differences]) => differences)).toEqual(sets.map(() => 0))
        expect(counts.at(-1)?.[1]).toBeGreaterThan(3)
      } finally {
        await admin.query('DROP TABLE t')
      }
    },
  )

  it('leave out rows whose values do not fit, which no condition and no value may compute', async () => {
    await admin.query(`CREATE TABLE refused AS SELECT * FROM (VALUES
      (1.00::numeric(15,2), 1.5::numeric, 'a', 'x'), ('NaN', 2, 'a', 'x'), (2.00, 'NaN', 'a', 'x'), (2.00, 'Infinity', 'a', 'x'),
      (3.00, 3, 'z', 'x'), (NULL, 3, 'a', 'x'), (3.00, NULL, 'a', 'x'), (4.00, 4, 'b', 'y')) AS t(cents, free, letter, word)`)
    const columns = [
      column.number('cents', 10_000_000n, 0n, 1_000n, refuse),
      column.number('free', 500_000_000n, 0n, 1_000n, refuse),
      column.category('letter', ['a', 'b'], refuse),
      column.string('word', refuse),
    ]
    const dataset = datasetOf(columns, 'refused')
    const found = (await engine.describe({ schema: 'public', name: 'refused' })) ?? []
    engine.open({
      dataset,
      table: { schema: 'public', name: 'refused' },
      columns: found,
      unit: { kind: 'row' },
    })
    const answer = (where: Predicate | undefined) => {
      const aggregate: Aggregate = {
        bounding: { kind: 'one-row-each' },
        groupBy: [{ kind: 'category', column: 'letter', size: 2, nullCell: false }],
        statistics: [
          { kind: 'count' },
          { kind: 'affine-sum', column: 'cents', factor: 1n, offset: 1_000_000n },
          { kind: 'affine-sum', column: 'free', factor: 1n, offset: 0n },
        ],
        ...(where === undefined ? {} : { where }),
      }
      return engine.aggregate(dataset, aggregate)
    }
    const low = { kind: 'index-between', column: 'cents', lower: 1n } as const
    const words = { kind: 'string-in', column: 'word', values: ['x'] } as const
    const rows = (b: bigint) => [
      [2n, b],
      [2_000_300n, b * 1_000_400n],
      [1_003n, b * 8n],
    ]
    expect(await answer(undefined)).toEqual(rows(1n))
    expect(await answer(low)).toEqual(rows(1n))
    expect(
      await answer({ kind: 'not', predicate: { kind: 'index-between', column: 'cents', upper: 0n } }),
    ).toEqual(rows(1n))
    // A condition on a text is computed from stored values, here before the rows are checked.
    expect(await answer({ kind: 'and', predicates: [low, words] })).toEqual(rows(0n))
    expect(await answer({ kind: 'or', predicates: [{ ...low, column: 'free' }, words] })).toEqual(rows(1n))
    expect(await answer({ kind: 'is-null', column: 'cents' })).toEqual([
      [0n, 0n],
      [0n, 0n],
      [0n, 0n],
    ])
  })
})
