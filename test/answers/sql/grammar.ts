import fc from 'fast-check'
import { codePoint } from '../../code-point.ts'

/*
 * A grammar of SELECT statements over the columns of `translated.ts`. Statements of `comparable` mean the same in a
 * database. Those of `statement` also have parts that are refused.
 */

const join = (separator: string, parts: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...parts).map((texts) => texts.join(separator))

const ages = fc.integer({ min: -2, max: 22 }).map(String)
const costs = fc.integer({ min: -24, max: 24 }).map((quarters) => String(quarters / 4))
const days = fc
  .integer({ min: -3, max: 45 })
  .map((day) => new Date(Date.UTC(2024, 0, 24 + day)).toISOString().slice(0, 10))
const hours = fc
  .integer({ min: -3, max: 120 })
  .map((hour) => new Date(Date.UTC(2024, 1, 27, hour)).toISOString().slice(0, 19).replace('T', ' '))
const quoted = (texts: fc.Arbitrary<string>) => texts.map((text) => `'${text.replaceAll("'", "''")}'`)
const regions = quoted(fc.constantFrom('North', 'South', "O'Hara"))
const notes = quoted(fc.constantFrom('', 'a', "it's", 'ÄÖ𝄞'))
const dayTexts = fc.oneof(
  quoted(days),
  quoted(days).map((text) => `DATE ${text}`),
)
const hourTexts = fc.oneof(
  quoted(hours),
  quoted(hours).map((text) => `TIMESTAMP ${text}`),
)

interface Typed {
  readonly name: fc.Arbitrary<string>
  readonly value: fc.Arbitrary<string>
  readonly ordered: boolean
}

const COLUMNS: readonly Typed[] = [
  { name: fc.constantFrom('age', 'AGE', '"age"', 'v.age'), value: ages, ordered: true },
  { name: fc.constantFrom('Visits', '"Visits"'), value: fc.nat(9).map(String), ordered: true },
  { name: fc.constant('cost'), value: costs, ordered: true },
  { name: fc.constantFrom('day', 'v."day"'), value: dayTexts, ordered: true },
  { name: fc.constant('seen'), value: hourTexts, ordered: true },
  { name: fc.constantFrom('Region', '"Region"', 'region'), value: regions, ordered: false },
  { name: fc.constant('member'), value: fc.constantFrom('TRUE', 'FALSE'), ordered: false },
  { name: fc.constant('note'), value: notes, ordered: false },
]

function conditionOn({ name, value, ordered }: Typed): fc.Arbitrary<string> {
  const op = ordered ? fc.constantFrom('=', '<>', '!=', '<', '<=', '>', '>=') : fc.constantFrom('=', '<>')
  const list = fc.array(value, { minLength: 1, maxLength: 4 }).map((values) => `(${values.join(', ')})`)
  const forms = [
    join(' ', [name, op, value]),
    join(' ', [value, op, name]),
    join(' ', [name, fc.constantFrom('IN', 'NOT IN'), list]),
    join(' ', [name, fc.constantFrom('IS NULL', 'IS NOT NULL')]),
    join(' ', [
      name,
      fc.constantFrom('IS DISTINCT FROM', 'IS NOT DISTINCT FROM'),
      fc.oneof(value, fc.constant('NULL')),
    ]),
  ]
  const between = join(' ', [
    name,
    fc.constantFrom('BETWEEN', 'NOT BETWEEN'),
    value,
    fc.constant('AND'),
    value,
  ])
  return fc.oneof(...forms, ...(ordered ? [between] : []))
}

const leaf: fc.Arbitrary<string> = fc.oneof(
  ...COLUMNS.map(conditionOn),
  fc
    .tuple(
      fc.constantFrom(
        'age - Visits',
        '2 * cost + age / 4.0',
        "CASE WHEN member THEN age WHEN Region = 'North' AND NOT cost > 1 THEN 0 ELSE Visits END",
      ),
      fc.constantFrom(
        '= 2',
        "= '2'",
        '<> 2',
        '< 7',
        'BETWEEN 1 AND 3',
        'NOT IN (1, 2)',
        'IS NULL',
        'IS NOT NULL',
      ),
    )
    .map((parts) => parts.join(' ')),
  fc.constantFrom('member', 'NOT member', 'member IS TRUE', 'member IS NOT TRUE', 'member IS NOT FALSE'),
  fc.constantFrom(
    "date_trunc('month', day) >= '2024-02-01'",
    "date_trunc('week', seen) NOT IN ('2024-02-26')",
    "CAST(seen AS date) BETWEEN '2024-02-28' AND '2024-02-29'",
    "date_trunc('week', day + INTERVAL '1 day') - INTERVAL '1 day' = '2024-02-04'",
    'EXTRACT(month FROM day) IN (1, 3)',
    'EXTRACT(dow FROM day) BETWEEN 2 AND 4',
    "Region LIKE '%o_th'",
    "Region NOT LIKE 'N%'",
    "Region ILIKE 's%H'",
    "upper(Region) = 'NORTH'",
    'FLOOR(age / 4.0) * 4 > 7',
    'ROUND(cost) <> 1',
    'width_bucket(age, 3, 18, 5) IN (0, 2)',
    "day > TIMESTAMP '2024-02-01 12:00'",
    'age > Visits',
    'NOT v.age = Visits + cost',
    'Visits + 1 <= age',
    'EXTRACT(hour FROM seen) BETWEEN 9 AND 14',
    "day BETWEEN DATE '2024-03-31' - INTERVAL '1 month' AND DATE '2024-03-03'",
    "seen < TIMESTAMP '2024-02-28' + INTERVAL '36 hours'",
  ),
)

/** Conditions of WHERE. */
export const condition: fc.Arbitrary<string> = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    leaf,
    fc
      .tuple(fc.constantFrom('AND', 'OR'), fc.array(tie('tree'), { minLength: 2, maxLength: 3 }))
      .map(([op, parts]) => parts.map((part) => `(${part})`).join(` ${op} `)),
    tie('tree').map((part) => `NOT (${part})`),
    tie('tree').map((part) => `(${part}) IS NOT TRUE`),
  ),
})).tree

/** Expressions by which rows are grouped, no two of them over one column. */
export const grouped: fc.Arbitrary<readonly string[]> = fc.uniqueArray(
  fc.constantFrom(
    'Region',
    'member',
    'age',
    'Visits',
    'width_bucket(age, 3, 18, 5)',
    'width_bucket(cost, -2, 2, 3)',
    'width_bucket(cost, ARRAY[-1, 0.3, 5])',
    "date_trunc('month', day)",
    "date_trunc('week', day)",
    'EXTRACT(MONTH FROM day)',
    'extract(dow from day)',
    "EXTRACT('dow' FROM DATE(day) + 0) + 1",
    "date_part('isodow', day)",
    'EXTRACT(year FROM seen)',
    'EXTRACT(hour FROM seen)',
    'EXTRACT(day FROM day)',
    "date_trunc('day', seen)",
    "date_trunc('hour', seen)",
    "date_trunc('minute', seen)",
    'age - Visits',
    "CASE WHEN age < 5 THEN 'low' WHEN NOT cost > 0 THEN 'paid' END",
    'CASE WHEN member THEN Visits ELSE 12 END',
    'FLOOR(age / 4.0) * 4',
    'CAST(FLOOR((cost + 1) / 2.5) AS INTEGER)',
    "CAST(date_trunc('month', day) AS date)",
    "date_trunc('month', CAST(day AS timestamp))",
    "date_trunc('week', day + INTERVAL '1 day') - INTERVAL '1 day'",
    "CAST(CAST(date_trunc('week', CAST(day + INTERVAL '3 days' AS date)) AS date) + INTERVAL '-3 days' AS date)",
    "CAST(date_trunc('day', CAST(day AS date)) + (-EXTRACT(dow FROM day) * INTERVAL '1 day') AS date)",
    'CAST(seen AS date)',
    'lower(Region)',
  ),
  {
    minLength: 0,
    maxLength: 2,
    selector: (text) =>
      /age|Visits|cost|day\b|seen|Region|member/.exec(text.replace("'day'", ''))?.[0] ?? text,
  },
)

/** Aggregates of which several can be asked for together. */
export const aggregates: fc.Arbitrary<readonly string[]> = fc.uniqueArray(
  fc.oneof(
    fc.constant('COUNT(DISTINCT patient)'),
    fc
      .tuple(
        fc.constantFrom('SUM', 'avg', 'VAR_POP', 'stddev_pop'),
        fc.constantFrom(
          'age',
          'cost',
          'Visits',
          'age - 2 * cost',
          'cost / 4',
          'COALESCE(age, 3)',
          'CASE WHEN age > 3 THEN cost WHEN member THEN 1.5 END',
          'EXTRACT(HOUR FROM seen)',
        ),
      )
      .map(([name, of]) => `${name}(${of})`),
    fc.constantFrom(
      'count(Visits)',
      'COUNT(DISTINCT Region)',
      'COUNT(DISTINCT member)',
      'COUNT(DISTINCT age)',
    ),
    fc.constantFrom(
      'COUNT(age)',
      'COUNT(*) FILTER (WHERE member)',
      'SUM(age) FILTER (WHERE cost > 1)',
      "SUM(CASE WHEN Region = 'North' THEN 1 ELSE 0 END)",
      'SUM(CASE WHEN NOT member THEN cost ELSE 0 END)',
      'AVG(CASE WHEN member THEN 1 ELSE 0 END)',
      'AVG(CASE WHEN age > 7 THEN 100.0 ELSE 0 END)',
      "AVG(CASE WHEN Region <> 'North' THEN cost END)",
      'COUNT(DISTINCT CASE WHEN age > 7 THEN Region END)',
      'SUM(cost) * 2 / NULLIF(COUNT(*), 0)',
      'SUM(cost) / CASE WHEN COUNT(*) = 0 THEN NULL ELSE COUNT(*) END',
      'COALESCE(CAST(SUM(Visits) AS float), 0) - COUNT(*)',
      'COUNT(*) * 100.0 / SUM(COUNT(*)) OVER ()',
      'MAX(COUNT(*)) OVER ()',
    ),
  ),
  { minLength: 0, maxLength: 3 },
)

/** Aggregates that are asked for by themselves. */
const alone = fc.constantFrom(
  'COUNT(age)',
  'COUNT(member)',
  'COVAR_POP(cost, age)',
  'COVAR_POP(Visits, cost)',
  'CORR(cost, age)',
)

function spelled(
  keys: readonly string[],
  values: readonly string[],
  where: string | undefined,
  having: string | undefined,
): string {
  const names = keys.map((key, place) => `${key} AS k${place}`)
  return [
    `SELECT ${[...names, ...values].join(', ')} FROM visits v`,
    ...(where === undefined ? [] : [`WHERE ${where}`]),
    ...(keys.length === 0
      ? []
      : [`GROUP BY ${keys.map((_, place) => (place === 0 ? '1' : `k${place}`)).join(', ')}`]),
    ...(having === undefined ? [] : [`HAVING ${having}`]),
  ].join(' ')
}

const having = fc.constantFrom(
  'COUNT(*) > 2',
  'COUNT(*) BETWEEN 1 AND 5',
  'NOT (COUNT(*) > 4 OR COUNT(*) = 1)',
  'count(*) IN (1, 2, 3) AND COUNT(*) <> 2',
)

/** Statements whose exact answers a database gives as well. */
export const comparable: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        grouped,
        aggregates,
        fc.option(condition, { nil: undefined }),
        fc.option(having, { nil: undefined, freq: 3 }),
      )
      .map(([keys, values, where, filter]) => spelled(keys, ['COUNT(*)', ...values], where, filter)),
  },
  fc
    .tuple(alone, fc.option(condition, { nil: undefined }))
    .map(([value, where]) => spelled([], [value], where, undefined)),
  fc.tuple(grouped, condition).map(([keys, where]) => spelled(keys, ['COUNT(age)'], where, undefined)),
  fc
    .tuple(fc.subarray(['age', 'cost'], { minLength: 1 }), condition, leaf)
    .map(
      ([values, where, outer]) =>
        `WITH v AS (SELECT * FROM visits) SELECT Region AS k0, COUNT(*), ${values.map((each) => `SUM(${each})`).join(', ')} ` +
        `FROM (SELECT v.* FROM v WHERE ${where}) AS v WHERE ${outer} GROUP BY 1`,
    ),
)

const REFUSED = [
  'EXISTS (SELECT 1)',
  'age IN (SELECT age FROM visits)',
  'age = ANY (ARRAY[1, 2])',
  "note LIKE 'a%'",
  "note ~ '^a'",
  'age + 1 = 2',
  'Region = note',
  'age = NULL',
  "day = 'yesterday'",
  'pg_sleep(10) IS NULL',
  'current_user = note',
  'CASE WHEN member THEN TRUE ELSE FALSE END',
  'unknown_column = 1',
  "patient = 'p1'",
  '(age, cost) = (1, 2)',
  'age = 1::bigint',
  '(1 = 1)',
  'TRUE',
  'age = 0.3',
  'age > 1e999',
  'COALESCE(age, 0) = 0',
  'age BETWEEN SYMMETRIC 5 AND 1',
] as const

const OTHER_VALUES = [
  '*',
  'age',
  'MIN(age)',
  'max(day)',
  'percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)',
  'percentile_disc(0.25) WITHIN GROUP (ORDER BY day DESC)',
  'PERCENTILE_CONT(0) WITHIN GROUP (ORDER BY cost)',
  'percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY cost)',
  'percentile_cont(1.5) WITHIN GROUP (ORDER BY cost)',
  'REGR_SLOPE(cost, age)',
  'REGR_INTERCEPT(cost, age)',
  'CORR(cost, cost)',
  'SUM(DISTINCT age)',
  'SUM(age) FILTER (WHERE member)',
  'SUM(age) OVER ()',
  'SUM(age + 1)',
  'STDDEV(age)',
  'string_agg(note)',
  'pg_read_file(note)',
  'COUNT(patient)',
  'COUNT(DISTINCT note)',
  '1',
  'NULL',
  '(SELECT 1)',
  'current_date',
  'COUNT(*) + 1',
  'COUNT(*)::text',
  'AVG(day)',
  'AVG(note)',
  'SUM(member)',
] as const

const CLAUSES = [
  '',
  'ORDER BY 1',
  'ORDER BY COUNT(*) DESC NULLS LAST, 1',
  'ORDER BY k0 LIMIT 3 OFFSET 1',
  'ORDER BY nothing',
  'ORDER BY 17',
  'LIMIT ALL',
  'LIMIT -1',
  'LIMIT 1 + 1',
  'FETCH FIRST 2 ROWS ONLY',
  'FETCH FIRST 2 ROWS WITH TIES',
  'FOR UPDATE',
  'UNION SELECT 1',
  'INTERSECT SELECT COUNT(*) FROM visits',
  'WINDOW w AS (PARTITION BY age)',
  'HAVING AVG(age) > 3 ORDER BY 1',
  '; DROP TABLE visits',
  '; SELECT 1',
  '-- end',
  '/* a comment */',
] as const

const TABLES = [
  'visits v',
  'visits AS v',
  '"visits" v',
  'visits',
  'visits v JOIN visits w ON TRUE',
  'visits v, other w',
  'other v',
  'public.visits v',
  'ONLY visits v',
  'visits v TABLESAMPLE SYSTEM (1)',
  '(SELECT * FROM visits) v',
  'generate_series(1, 10) v',
  'LATERAL (SELECT 1) v',
] as const

const KEYS = [
  '',
  'GROUP BY ROLLUP (Region)',
  'GROUP BY GROUPING SETS ((Region), ())',
  'GROUP BY cost',
  'GROUP BY seen',
  'GROUP BY note',
  'GROUP BY 9',
] as const

/** Statements of which many are refused, and some are no SQL. */
export const statement: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.constant('SELECT') },
      fc.constantFrom('SELECT DISTINCT', 'WITH x AS (SELECT 1) SELECT', 'EXPLAIN SELECT', 'SELECT ALL'),
    ),
    grouped,
    fc.array(
      fc.oneof(
        { weight: 3, arbitrary: aggregates.map((each) => each[0] ?? 'COUNT(*)') },
        fc.constantFrom(...OTHER_VALUES),
        alone,
      ),
      { minLength: 1, maxLength: 3 },
    ),
    fc.oneof({ weight: 6, arbitrary: fc.constant('visits v') }, fc.constantFrom(...TABLES)),
    fc.option(
      fc.oneof(
        { weight: 4, arbitrary: condition },
        fc
          .tuple(condition, fc.constantFrom('AND', 'OR'), fc.constantFrom(...REFUSED))
          .map((parts) => parts.join(' ')),
      ),
      { nil: undefined },
    ),
    fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, fc.constantFrom(...KEYS)),
    fc.oneof({ weight: 2, arbitrary: fc.constant('') }, fc.constantFrom(...CLAUSES)),
  )
  .map(([select, keys, values, table, where, otherKeys, clauses]) => {
    const names = keys.map((key, place) => `${key} AS k${place}`)
    const groups = keys.length === 0 ? '' : `GROUP BY ${keys.join(', ')}`
    return [
      `${select} ${[...names, ...values].join(', ')} FROM ${table}`,
      where === undefined ? '' : `WHERE ${where}`,
      otherKeys ?? groups,
      clauses,
    ].join(' ')
  })

/** A statement with a part cut out, doubled or replaced, most often no SQL. */
export const broken: fc.Arbitrary<string> = fc
  .tuple(
    statement,
    fc.nat(),
    fc.nat(40),
    fc.oneof(
      fc.constantFrom(
        '',
        '(',
        ')',
        "'",
        '"',
        ',',
        '$1',
        '$$',
        '--',
        '/*',
        ';',
        '::int',
        '𝄞',
        "U&'\\00e9'",
        '\u{feff}',
      ),
      fc.string({ maxLength: 5, unit: codePoint }),
    ),
  )
  .map(([text, at, length, inserted]) => {
    const start = at % (text.length + 1)
    return text.slice(0, start) + inserted + text.slice(start + length)
  })
  .map((text) => text.replaceAll('\0', ' ').toWellFormed())

/** Names of columns of the result. Some are those of columns of the table, or of aggregates. */
const OUTPUT_NAMES = ['x', 'y', 'age', 'member', 'day', 'count', 'sum'] as const

/** Expressions by which rows are grouped, with constants of their type and of others. */
const SORTED_KEYS: readonly { readonly key: string; readonly constant: fc.Arbitrary<string> }[] = [
  { key: '"Region"', constant: fc.oneof(regions, fc.constantFrom('5', 'TRUE')) },
  { key: 'member', constant: fc.constantFrom('TRUE', 'FALSE', "'t'", '1') },
  { key: '"Visits"', constant: fc.oneof(ages, fc.constantFrom("'3'", '2.5', '+4', 'TRUE')) },
  { key: 'width_bucket(age, 3, 18, 5)', constant: fc.oneof(fc.nat(7).map(String), fc.constant("'2'")) },
  { key: 'EXTRACT(MONTH FROM day)', constant: fc.constantFrom('1', '2', '3', '2.0', "'2'") },
  { key: 'day', constant: dayTexts },
  { key: 'DATE(seen)', constant: dayTexts },
  { key: "date_trunc('week', day + INTERVAL '1 day') - INTERVAL '1 day'", constant: dayTexts },
  {
    key: "date_trunc('day', seen)",
    constant: fc
      .tuple(
        fc.constantFrom('', 'DATE ', 'TIMESTAMP ', 'TIMESTAMPTZ '),
        hours,
        fc.constantFrom('', 'Z', '+02', '-0530'),
      )
      .map(([type, hour, offset]) => `${type}'${hour}${offset}'`),
  },
]

const comparison = fc.constantFrom('=', '<>', '<', '<=', '>', '>=')

/** Conditions of HAVING on a count, or on one of the expressions by which rows are grouped. */
function conditionOnGroup(keys: readonly string[]): fc.Arbitrary<string> {
  const known = SORTED_KEYS.filter(({ key }) => keys.includes(key))
  const onKeys = known.flatMap(({ key, constant }) => [
    join(' ', [fc.constant(key), comparison, constant]),
    join(' ', [constant, comparison, fc.constant(key)]),
    join('', [fc.constantFrom(`${key} NOT IN (`, `${key} IN (`), constant, fc.constantFrom(')', ', NULL)')]),
    join(' ', [
      fc.constant(key),
      fc.constantFrom('BETWEEN', 'NOT BETWEEN'),
      constant,
      fc.constant('AND'),
      constant,
    ]),
    fc.constantFrom(`${key} IS NULL`, `${key} IS NOT NULL`),
  ])
  const counts = fc.constantFrom('1', '2', '2.5', "'2'", 'NULL', 'FALSE')
  return fc.oneof(join(' ', [fc.constant('COUNT(*)'), comparison, counts]), ...onKeys)
}

/**
 * Statements whose rows have one order, and whose names and constants may mean several things or none. Groups without rows
 * are left out.
 */
export const sorted: fc.Arbitrary<string> = fc
  .uniqueArray(fc.constantFrom(...SORTED_KEYS.map(({ key }) => key)), {
    minLength: 1,
    maxLength: 2,
    selector: (key) => key.replace(/EXTRACT.*/, 'day'),
  })
  .chain((keys) =>
    fc.record({
      keys: fc.constant(keys),
      filter: fc.option(fc.tuple(fc.constantFrom('', 'NOT '), conditionOnGroup(keys)), {
        nil: undefined,
        freq: 2,
      }),
      value: fc.constantFrom('COUNT(*)', 'SUM("Visits")', 'AVG("Visits")', 'COUNT(DISTINCT patient)'),
      names: fc.array(fc.option(fc.constantFrom(...OUTPUT_NAMES), { nil: undefined }), {
        minLength: 3,
        maxLength: 3,
      }),
      grouped: fc.constantFrom('expression', 'expression', 'place', 'place', 'name', 'name', 'signed'),
      order: fc.array(
        fc.tuple(
          fc.oneof(fc.constantFrom(...OUTPUT_NAMES, '2', '+1', 'COUNT(*)', 'SUM("Visits")', '"Region"')),
          fc.constantFrom('', 'ASC', 'DESC'),
          fc.constantFrom('', 'NULLS FIRST', 'NULLS LAST'),
        ),
        { maxLength: 2 },
      ),
      limit: fc.constantFrom(
        '',
        '',
        'LIMIT 3',
        'LIMIT 2 OFFSET 1',
        'OFFSET 2',
        'LIMIT ALL',
        'FETCH FIRST ROW ONLY',
      ),
    }),
  )
  .map(({ keys, value, names, grouped, filter, order, limit }) => {
    const targets = [...keys, value].map((target, place) => {
      const name = names[place]
      return name === undefined ? target : `${target} AS ${name}`
    })
    const groups = keys.map((key, place) => {
      if (grouped === 'place') return String(place + 1)
      if (grouped === 'signed' && place === 0) return `+${place + 1}`
      return grouped === 'name' ? (names[place] ?? key) : key
    })
    const conditions = filter === undefined ? '' : ` AND ${filter[0]}(${filter[1]})`
    const keysOfOrder = [
      ...order.map((parts) => parts.join(' ')),
      ...keys.map((_, place) => String(place + 1)),
    ]
    return (
      `SELECT ${targets.join(', ')} FROM visits GROUP BY ${groups.join(', ')} ` +
      `HAVING COUNT(*) >= 1${conditions} ORDER BY ${keysOfOrder.join(', ')} ${limit}`
    )
  })
