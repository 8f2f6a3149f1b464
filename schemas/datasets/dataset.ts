import { z } from 'zod'
import { budgetRisk, candidates } from '../answers/disclosure.ts'
import { budgetRequest } from '../budgets/budget.ts'
import { boolean, listOf, neighbours, next, number, object, slug, string, time } from '../values.ts'
import { connectionName, tableName } from './connections.ts'
import { suspensionReason } from './suspension.ts'

/** Id of a dataset. */
export const datasetId = slug

/** Path parameter of the paths below /v1/datasets/{dataset}. */
export const datasetParameters = z.strictObject({
  dataset: datasetId.meta({ description: 'Id of the dataset.', example: 'census' }),
})

/** The same for routes that change a dataset, with an example that is not the demo. */
export const changedDatasetParameters = z.strictObject({
  dataset: datasetId.meta({ description: 'The dataset.', example: 'census-small' }),
})

/** Path parameters of /v1/datasets/{dataset}/analysts/{analyst}. */
export const analystParameters = datasetParameters.extend({
  analyst: z
    .string()
    .regex(
      /^([a-z][a-z0-9-]{0,62}|oidc:[A-Za-z0-9._~@|:+=/-]{1,200})$/,
      'must be the name of a key, or `oidc:` and the name in a token',
    )
    .meta({
      description: 'Name of an analyst: of a key, or `oidc:` and the name in tokens.',
      example: 'analyst',
    }),
})

/**
 * A text of printable characters (letters, marks, numbers, punctuation, symbols) and spaces between them. Control and format
 * characters are not printable, among them those that change the writing direction.
 */
function printable(longest: number) {
  const [shown, spaced] = ['[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}]', '[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]']
  return z
    .string()
    .regex(
      new RegExp(`^${shown}(?:${spaced}{0,${longest - 2}}${shown})?$`, 'u'),
      `must be 1 to ${longest} printable characters, without a space at the start or the end`,
    )
    .refine((text) => text === text.normalize('NFC'), 'must be in Unicode normalization form C (NFC)')
}

export const columnName = printable(63).meta({ id: 'ColumnName', description: 'Name of a column.' })

/** Text of an expression over columns, among which are names of columns. */
export const expressionText = printable(2_000)

/** A date or time in ISO 8601. The catalog and the planner check it. */
export const isoText = z.string().max(40)

const title = z.string().min(1).max(200).describe('Title for people.')
const datasetDescription = z
  .string()
  .min(1)
  .max(4_000)
  .describe('Description of the rows: their meaning, their origin, their known faults.')
const columnDescription = z.string().min(1).max(1_000).describe('Meaning of the values.')
const unit = z.string().min(1).max(50).describe('Unit of the values, such as `EUR`. It is only shown.')

const declaredName = columnName.describe(
  'Name of the column in the source, to the letter: 1 to 63 printable characters in Unicode normalization form C, with spaces ' +
    'only between them. `sotto_` is reserved.',
)

const columnFacts = {
  name: declaredName,
  description: columnDescription.optional(),
  constantPerPerson: boolean(
    'True if all rows of a person have the same value. Ingestion enforces it: the value of one row, chosen by a keyed ' +
      'digest, is stored in all of them. Only with the privacy unit `person`.',
  ).optional(),
  nullable: boolean('True if NULL may occur.').default(false),
  onInvalidValue: z
    .union(
      [
        z.enum(['null', 'refuse']),
        z.strictObject({ replaceWith: z.union([z.number(), z.boolean(), z.string().max(1_000)]) }),
      ],
      'must be "null", "refuse" or {"replaceWith": value}',
    )
    .meta({
      id: 'InvalidValueRule',
      description:
        'Rule for values that do not fit the declaration: `null` stores NULL, `refuse` refuses the whole file, ' +
        '`replaceWith` stores the given value. Default: `null` for a nullable column, otherwise `refuse`. Numbers and times ' +
        'outside the bounds are valid: they are clamped.',
    })
    .optional(),
}

const rankable = object(
  'Rankable',
  'Limit on the distinct values of the column, which quantiles read. A file that exceeds it is refused. Required for ' +
    'quantiles of a column with more than 1,048,576 steps between its bounds, unless the number of rows is public and ' +
    'not larger.',
  {
    maxValues: z.int().min(1).describe('Largest number of distinct values: at most 4,194,304.'),
  },
).optional()

const bounds = {
  rankable,
  lower: number('Lower bound, a multiple of `step`. Smaller values are clamped to it.'),
  upper: number('Upper bound, a multiple of `step`. Larger values are clamped to it.'),
}

const integerColumn = object('IntegerColumn', 'Whole numbers between public bounds.', {
  ...columnFacts,
  type: z.literal('integer'),
  unit: unit.optional(),
  ...bounds,
  step: number('Grid of the column. Values are rounded to the nearest multiple. A whole number.').default(1),
})

const numberColumn = object('NumberColumn', 'Real numbers between public bounds, on a public grid.', {
  ...columnFacts,
  type: z.literal('number'),
  unit: unit.optional(),
  ...bounds,
  step: number(
    'Grid of the column. Values are rounded to the nearest multiple. At most 9 fractional digits.',
  ),
})

const temporalFacts = {
  ...columnFacts,
  rankable,
  dateFormat: z
    .enum([
      'YYYY-MM-DD',
      'YYYY/MM/DD',
      'YYYYMMDD',
      'DD.MM.YYYY',
      'DD/MM/YYYY',
      'DD-MM-YYYY',
      'MM/DD/YYYY',
      'MM-DD-YYYY',
    ])
    .default('YYYY-MM-DD')
    .describe(
      'How texts in the source spell dates. A time of day may follow. The default is ISO 8601. Parquet dates and ' +
        'timestamps need no format.',
    ),
}

const dateColumn = object(
  'DateColumn',
  'Dates between public bounds. A time of day in the source is cut off.',
  {
    ...temporalFacts,
    type: z.literal('date'),
    lower: isoText.describe('First date, such as `2020-01-01`. Earlier dates are clamped to it.'),
    upper: isoText.describe('Last date, such as `2024-12-31`. Later dates are clamped to it.'),
    step: number(
      'Grid of the column in days, a whole number, counted from 1970-01-01. Dates are rounded to the nearest step.',
    ).default(1),
  },
)

const timestampColumn = object(
  'TimestampColumn',
  'Instants between public bounds. Queries and answers are in UTC.',
  {
    ...temporalFacts,
    type: z.literal('timestamp'),
    lower: isoText.describe('First instant, such as `2020-01-01T00:00:00Z`. Earlier ones are clamped to it.'),
    upper: isoText.describe('Last instant, such as `2024-12-31T23:59:59Z`. Later ones are clamped to it.'),
    step: number(
      'Grid of the column in seconds, a whole number, counted from 1970-01-01T00:00:00Z. Instants are rounded to the ' +
        'nearest step.',
    ).default(1),
    timeZone: z
      .string()
      .max(100)
      .default('UTC')
      .describe(
        'IANA time zone of source values without an offset, such as `Europe/Berlin`. A time that the clock skips is read ' +
          'with the offset before the change; a time that it shows twice is the earlier one.',
      ),
  },
)

const booleanColumn = object('BooleanColumn', 'Column of true and false.', {
  ...columnFacts,
  type: z.literal('boolean'),
})

const categoryColumn = object('CategoryColumn', 'Column whose values are declared strings.', {
  ...columnFacts,
  type: z.literal('category'),
  categories: z
    .array(z.string().max(200))
    .min(1)
    .max(10_000)
    .readonly()
    .describe('All values that may occur. A value must match one to the letter.'),
})

const stringColumn = object(
  'StringColumn',
  'Free text. Can be used in predicates and, if `selectable`, in `keySelection`, but not for grouping.',
  {
    ...columnFacts,
    type: z.literal('string'),
    selectable: z
      .union(
        [
          z.boolean(),
          z.strictObject({
            maxValues: z
              .int()
              .min(1)
              .default(100_000)
              .describe('Largest number of distinct values: at most 1,000,000.'),
            maxLength: z
              .int()
              .min(1)
              .default(200)
              .describe(
                'Largest number of characters of a value: at most 1,000. `maxValues` times `maxLength` is at most 33,554,432.',
              ),
          }),
        ],
        'must be true, false or {"maxValues", "maxLength"}',
      )
      .optional()
      .describe(
        'Allows queries to release common values (`keySelection`) and to count distinct values, and limits the values. A ' +
          'file that exceeds the limits is refused. `true` declares the defaults, which the dataset then shows. Never set it ' +
          'for a column whose values identify people.',
      ),
  },
)

const identifierColumn = object(
  'IdentifierColumn',
  'Identifies people (text or whole numbers), compared character by character. No query can use it, and its values ' +
    'are neither stored nor shown. With the privacy unit `row` no value may occur twice.',
  {
    type: z.literal('identifier'),
    name: declaredName,
    description: columnDescription.optional(),
    nullable: boolean('True if it may be missing in some rows.').default(false),
    onInvalidValue: z
      .enum(['dropRow', 'refuse'])
      .optional()
      .describe(
        'Rule for rows without an identifier: `dropRow` leaves them out, `refuse` refuses the whole file. Default: `refuse`.',
      ),
  },
)

const column = z.discriminatedUnion('type', [
  integerColumn,
  numberColumn,
  dateColumn,
  timestampColumn,
  booleanColumn,
  categoryColumn,
  stringColumn,
  identifierColumn,
])

const csvDialect = z
  .strictObject({
    delimiter: z
      .enum([',', ';', '|', 'tab', 'space'])
      .optional()
      .describe(
        'Character between fields: `,` by default, and `tab` for the path of a `.tsv` file. `space` is one or more ' +
          'spaces; those at the ends of a line do not count.',
      ),
    quote: z
      .enum(['"', "'", 'none'])
      .optional()
      .describe(
        'Character around a field that contains delimiters, line breaks or quotes, which are doubled. `"` by default. ' +
          'With `none`, quotes are part of the values.',
      ),
    decimal: z
      .enum(['.', ','])
      .optional()
      .describe(
        'Decimal separator of the columns of type `integer` and `number`, `.` by default. Separators of thousands are ' +
          'invalid values.',
      ),
    header: boolean(
      'True, the default, if the first record has the names of the columns. Otherwise they are `column1`, `column2` ' +
        'and so on.',
    ).optional(),
    encoding: z
      .enum(['utf-8', 'latin-1', 'utf-16'])
      .optional()
      .describe(
        '`utf-8` by default. `latin-1` is Windows-1252. `utf-16` is little-endian unless a byte order mark states ' +
          'otherwise.',
      ),
    nullValues: z
      .array(
        z
          .string()
          .max(50)
          .regex(
            /^[^\p{Cc}"']+$/u,
            'must be a text without quotes, line breaks and other control characters',
          ),
      )
      .min(1)
      .max(20)
      .optional()
      .describe(
        'Texts that stand for a missing value in fields without quotes, to the letter, such as `NA`. An empty field is ' +
          'missing whatever is declared.',
      ),
  })
  .superRefine(({ delimiter = ',', nullValues = [] }, context) => {
    const separator = delimiter === 'space' ? ' ' : delimiter
    for (const [place, text] of nullValues.entries())
      if (text.includes(separator))
        context.addIssue({
          code: 'custom',
          path: ['nullValues', place],
          message: 'must not contain the delimiter',
        })
  })
  .meta({
    id: 'CsvDialect',
    description: 'How a CSV file differs from RFC 4180 in UTF-8.',
    example: { delimiter: ';', decimal: ',', encoding: 'latin-1' },
  })

/** Fields of a source that is a file. A file in CSV may be compressed by gzip. */
const fileLayout = {
  format: z.enum(['csv', 'parquet']).describe('The format, in which the name of the file ends.'),
  csv: csvDialect.optional().describe('Only for the format `csv`.'),
}

/** Requires the format `csv` for a dialect. */
function requireCsv(
  { format, csv }: { readonly format: string; readonly csv?: unknown },
  context: z.RefinementCtx,
) {
  if (format !== 'csv' && csv !== undefined)
    context.addIssue({ code: 'custom', path: ['csv'], message: 'is only for the format csv' })
}

const fileSource = z
  .strictObject({
    kind: z.literal('file'),
    path: z
      .string()
      .min(1)
      .max(500)
      .describe(
        'Path relative to the data folder: `.parquet`, or `.csv`, `.tsv` or `.txt`, each with or without `.gz`.',
      ),
    ...fileLayout,
  })
  .superRefine(requireCsv)
  .meta({ id: 'FileSource', description: 'A file below the data folder.' })

/** Id of an upload. */
export const uploadId = z
  .string()
  .regex(/^[0-9a-f]{32}$/, 'must be the id of an upload: 32 hexadecimal digits')

const uploadSource = z
  .strictObject({
    kind: z.literal('upload'),
    upload: uploadId.describe('Id of the upload, as POST /v1/sources returned it.'),
    ...fileLayout,
  })
  .superRefine(requireCsv)
  .meta({ id: 'UploadSource', description: 'A file that the custodian uploaded with POST /v1/sources.' })

/** A table of a connection, as registrations and drafts name it. */
export const namedTable = z.strictObject({
  kind: z.literal('table'),
  connection: connectionName.describe('Name of a connection; `GET /v1/connections` lists them.'),
  table: tableName.describe('A table or view, as `schema.table` or `table`.'),
})

const tableSource = z
  .strictObject({
    ...namedTable.shape,
    mode: z
      .enum(['live', 'snapshot'])
      .default('live')
      .describe(
        '`live`: every query reads the table in its database; only with `add-remove` neighbours. `snapshot`: the rows are ' +
          'copied once, at registration.',
      ),
    freshness: z
      .enum(['hour', 'day', 'forever'])
      .optional()
      .describe(
        'Only with the mode `live`: how long a repeated question replays its answer, free. Until the end of the hour or the day ' +
          'in UTC in which it was charged, and afterwards it is a new question; or `forever`. Default: `day`.',
      ),
  })
  .refine(({ mode, freshness }) => mode === 'live' || freshness === undefined, {
    path: ['freshness'],
    message: 'is only for the mode live',
  })
  .meta({ id: 'TableSource', description: 'A table or view of a database that the operator has connected.' })

/** A made-up population, as a registration and the command line describe it. */
export const populationSource = object(
  'PopulationSource',
  'Made-up people with the columns of the demo dataset: Sex, Age, Married, Earnings, Occupation.',
  {
    kind: z.literal('population'),
    rows: z.int().min(1).max(1_000_000).describe('The number of people.'),
    seed: z.string().min(1).max(100).describe('A size and a seed always give the same people.'),
  },
)

export const visitsSource = z
  .strictObject({
    kind: z.literal('visits'),
    people: z.int().min(1).max(1_000_000).describe('The number of patients.'),
    rows: z
      .int()
      .min(1)
      .max(10_000_000)
      .describe('The number of visits, at least one for each patient. A few patients have many.'),
    seed: z.string().min(1).max(100).describe('The same numbers and seed always give the same visits.'),
  })
  .refine(({ people, rows }) => rows >= people, { path: ['rows'], message: 'must be at least people' })
  .meta({
    id: 'VisitsSource',
    description:
      'Visits of made-up patients to a clinic, with the columns patient_id, visited, region, age, diagnosis, cost, emergency.',
  })

/** Name of a table of a joined source. */
const joinedTableName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,29}$/, {
  message: 'must be 1 to 30 letters, digits and `_`, starting with a letter',
})

/** A column of a table of a joined source. */
const joinedColumn = z
  .string()
  .max(94)
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,29}\..+$/su, 'must be `table.column`')

const join = object(
  'Join',
  'A reference from a column of one table to the key of another, or with `maxRows` two facts of each person.',
  {
    from: joinedColumn.describe('The column that refers to the other table, as `table.column`.'),
    to: joinedColumn.describe(
      'The key of the other table, as `table.column`. No value may occur twice, except with `maxRows`.',
    ),
    public: boolean(
      'True states that neither the keys nor the values of the other table depend on people: a list of hospitals, of ' +
        'products, of holidays. False if its rows are people, or lead to people.',
    ).default(false),
    dangling: z
      .enum(['null', 'drop', 'refuse'])
      .optional()
      .describe(
        'Rows whose reference is missing or leads nowhere: `null` keeps them, with NULL for the columns of the other table; ' +
          '`drop` leaves them out; `refuse` refuses the whole source. Default: `null` for a public table, otherwise `drop`, ' +
          'and then `null` is not possible.',
      ),
    maxRows: z
      .record(joinedTableName, z.int().min(1).max(1_000))
      .optional()
      .describe(
        'Joins two facts of one person, such as visits and prescriptions: `from` is the column of the privacy unit, and many rows ' +
          'of the other table may have the same `to`. By the names of both tables, the largest number of rows of a person that are ' +
          'combined; of more rows, a digest chooses.',
      ),
  },
)

const SAME_FOR_TABLES = ['connection', 'mode', 'freshness'] as const

/** Requires that tables of a database are joined with tables of the same one only, and read alike. */
function requireOneDatabase(
  tables: Readonly<Record<string, { readonly kind: string }>>,
  { addIssue }: z.RefinementCtx,
): void {
  const all = Object.entries(tables)
  const [name, first] = all.find(([, { kind }]) => kind === 'table') ?? []
  if (name === undefined || first === undefined) return
  const add = (table: string, field: string, message: string) =>
    addIssue({ code: 'custom', path: [table, field], message })
  for (const [table, each] of all) {
    if (each.kind !== 'table')
      add(table, 'kind', `must be "table", as ${name} is: files are joined with files only`)
    else
      for (const field of SAME_FOR_TABLES)
        if (Reflect.get(each, field) !== Reflect.get(first, field))
          add(table, field, `must be that of ${name}`)
  }
}

const joinedSource = object(
  'JoinedSource',
  'Several tables as one. Its rows are those of the table to which no join leads, each with the columns of the tables that ' +
    'it refers to, and columns are named `table.column`.',
  {
    kind: z.literal('joined'),
    tables: z
      .record(joinedTableName, z.discriminatedUnion('kind', [fileSource, uploadSource, tableSource]))
      .refine((tables) => Object.keys(tables).length <= 10, 'must be at most 10 tables')
      .superRefine(requireOneDatabase)
      .describe(
        'The tables by their names in this declaration: files and uploads, or tables of one connection with one mode and ' +
          'freshness.',
      ),
    joins: z.array(join).min(1).max(9).readonly(),
  },
)

export const columns = z.array(column).min(1).max(200).readonly()
const synthetic = boolean('True for made-up data that describes no real person.')

export const privacyUnit = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('row') }),
    z.strictObject({
      kind: z.literal('person'),
      column: columnName.describe('The column of type `identifier` whose values are the people.'),
      maxRows: z
        .int()
        .min(1)
        .max(1_000_000)
        .describe('Largest number of rows of a person that answers read.'),
      plausibleRows: z
        .int()
        .min(1)
        .max(10_000_000)
        .optional()
        .describe(
          'Largest number of rows of one person that is plausible. People with more count as one group where the rows that ' +
            'are left out are measured, and how many rows these have stays unknown. Default: 10 times `maxRows`.',
        ),
    }),
  ])
  .meta({
    id: 'PrivacyUnit',
    description:
      'What one person can contribute. `row`: one row. `person`: at most `maxRows` rows, those with the same value in the ' +
      'identifier `column`; answers leave out the rows beyond.',
  })

const timing = z
  .union([
    z.literal('off'),
    z.strictObject({
      slotMs: z
        .int()
        .min(10)
        .max(10_000)
        .describe('Answers are released at a multiple of this time after the request arrived.'),
    }),
    z.strictObject({
      deadlineMs: z
        .int()
        .min(100)
        .max(120_000)
        .describe(
          'Answers are released at this time after the request arrived, later ones at a multiple of it.',
        ),
    }),
  ])
  .meta({
    id: 'Timing',
    description:
      'When answers, failures and denials are released, so that their time does not depend on the data. `slotMs` delays ' +
      'them to the end of a short slot. `deadlineMs` is strict: choose it longer than any query takes. `off` releases them ' +
      'at once.',
  })

const failureLimit = z
  .int()
  .min(1)
  .max(1_000)
  .describe(
    'Number of failures after a charge at which the dataset is suspended for analysts until a custodian resumes it.',
  )

const queryLimits = object(
  'QueryLimits',
  'Limits on each query, each query of a batch and each session. Under either accounting they apply to the epsilon that ' +
    'the query states, or that the requested accuracy needs. An absent limit permits everything.',
  {
    minEpsilon: number(
      'Least epsilon of a query or session, above 0, with at most 9 fractional digits.',
    ).optional(),
    maxEpsilon: number('Largest epsilon of a query or session, with at most 9 fractional digits.').optional(),
    minHalfWidth: number(
      'Least half-width of the noise at a confidence of 0.95, above 0. It is a number of rows or people. The half-width ' +
        'of a sum is divided by the most that one row can add to it.',
    ).optional(),
  },
)

const leftOut = object(
  'LeftOut',
  'What the measurement of the rows that `maxRows` leaves out costs. It is charged to the budget after each version of ' +
    'a file or a snapshot is published, and for a live table when a custodian asks for it. Only where the privacy unit is ' +
    'a person. Default: 1 % of the epsilon of the budget.',
  {
    epsilon: number(
      'Epsilon charged for each version, at least 0, with at most 9 fractional digits; 0 measures nothing.',
    ),
  },
)

const interval = z.strictObject({ value: z.number(), lower: z.number(), upper: z.number() })

/** What `maxRows` leaves out of a version. */
export const coverage = object(
  'Coverage',
  'What `maxRows` leaves out of this version, as a whole, measured with noise. The intervals include the noise and the ' +
    'width of the groups of people by their numbers of rows. Absent where it was not measured.',
  {
    release: string('Id of the release from which it was computed, a `contributionProfile`.'),
    confidence: number('Probability with which each interval contains the true number.'),
    shareRead: interval.describe('Share of the rows that queries read.'),
    rowsLeftOut: interval.describe('Rows that queries do not read, of each person up to `plausibleRows`.'),
    people: interval.describe('People in the dataset.'),
    peopleBeyond: interval.describe('People with more than `maxRows` rows.'),
    implausiblePeople: interval.describe(
      'People with more than `plausibleRows` rows. How many more they have is unknown, and not part of the other numbers.',
    ),
  },
)

const source = z.discriminatedUnion('kind', [
  fileSource,
  uploadSource,
  tableSource,
  joinedSource,
  populationSource,
  visitsSource,
])

const derivedColumn = object('DerivedColumn', 'Column that is computed from others. It is never stored.', {
  name: columnName.describe('Name of the column, different from every other.'),
  expression: expressionText.describe(
    'Expression over the columns and the derived columns before this one, such as `arr_delay - dep_delay`: docs/queries.md. Its ' +
      'type, bounds and step follow from theirs.',
  ),
  description: columnDescription.optional(),
  unit: unit.optional(),
})

const derived = z.array(derivedColumn).min(1).max(100).optional()

const followingFacts = {
  ...derivedColumn.shape,
  nullable: boolean('True if it may be NULL.'),
  constantPerPerson: z
    .literal(true)
    .optional()
    .describe('Present if all columns from which it is computed are constant for each person.'),
}

const step = number('Every value is a multiple of it.')

const derivedFacts = z
  .discriminatedUnion('type', [
    z.strictObject({
      ...followingFacts,
      type: z.enum(['integer', 'number']),
      lower: z.number(),
      upper: z.number(),
      step,
    }),
    z.strictObject({
      ...followingFacts,
      type: z.enum(['date', 'timestamp']),
      lower: isoText,
      upper: isoText,
      step,
    }),
    z.strictObject({ ...followingFacts, type: z.literal('boolean') }),
    z.strictObject({
      ...followingFacts,
      type: z.literal('category'),
      // An expression can have longer texts than a declaration.
      categories: listOf(z.string()).describe('All values that may occur.'),
    }),
  ])
  .meta({
    id: 'DerivedFacts',
    description: 'Column that is computed from others, with the facts that follow from its expression.',
  })

const declaration = {
  id: datasetId.describe(
    'Name in addresses: 1 to 63 lower-case letters, digits and `-`, starting with a letter. The budget belongs to it for good.',
  ),
  title,
  description: datasetDescription.optional(),
  source: source.describe('Where the rows come from.'),
  privacyUnit,
  neighbours: neighbours.describe(
    'Definition of neighbouring datasets. `add-remove`: one person more or fewer; the number of rows is private. ' +
      '`change-one`: one person replaced by another; the number of people is public (with the privacy unit `row`, that ' +
      'is the number of rows).',
  ),
  accounting: z
    .enum(['basic', 'zcdp'])
    .default('basic')
    .describe(
      'Accounting of the budget. `basic`: epsilon and delta of the queries add up. `zcdp`: their rho adds up ' +
        '(zero-concentrated differential privacy), which allows more small queries and needs a delta.',
    ),
  sharing: boolean(
    'If true, a question that one analyst has paid for is answered to other analysts with the stored release. It is ' +
      'charged to their own allotment and not to the dataset again.',
  ).default(false),
  leftOut: leftOut.optional(),
  derived: derived.describe(
    'Columns that are computed from the others, and that questions name as they name those.',
  ),
  population: slug
    .optional()
    .describe(
      'Population that the dataset belongs to for ever. Its people are also in other datasets of the population, and ' +
        'whatever the dataset spends, the budget of the population spends too. Needs the key of a custodian for all datasets.',
    ),
}

const separateBudget = z
  .string()
  .min(1)
  .max(1_000)
  .describe(
    'Reason for a second budget over the same source. A source of real data that is or was registered under another ' +
      'id is refused without it, because the budgets of both ids protect the same people. The ledger records the ' +
      'reason. Needs the key of a custodian for all datasets.',
  )

/**
 * The registration that Swagger UI offers: a smaller population than the demo's, under the other kind of neighbours.
 */
const registrationExample = {
  id: 'census-small',
  title: 'Synthetic census, three columns, number of people public',
  source: { kind: 'population', rows: 1_000, seed: 'census-small' },
  columns: [
    { name: 'Sex', type: 'category', categories: ['M', 'F'] },
    { name: 'Age', type: 'integer', lower: 0, upper: 120 },
    { name: 'Earnings', type: 'integer', lower: 0, upper: 10_000_000, step: 1000 },
  ],
  privacyUnit: { kind: 'row' },
  neighbours: 'change-one',
  budget: { epsilon: 5, delta: 1e-6 },
}

/** POST /v1/datasets */
export const registration = object(
  'Registration',
  'A source of rows, its public facts and its budget.',
  {
    ...declaration,
    columns: columns.optional().describe('Optional for a population; the default is all of its columns.'),
    synthetic: synthetic
      .optional()
      .describe(`${synthetic.description} Default: true for a population, false for a file.`),
    timing: timing
      .optional()
      .describe(
        'When answers, failures and denials are released. Default: `{"slotMs": 50}`, and `off` for made-up data. Write `off` only ' +
          'where analysts may learn from the time of an answer.',
      ),
    failureLimit: failureLimit.optional().describe(`${failureLimit.description} Default: 3.`),
    queryLimits: queryLimits
      .optional()
      .describe(
        'Limits on each query. Default: a `minEpsilon` of 0.001, which also holds if only other limits are declared, and no ' +
          'limit for made-up data.',
      ),
    budget: budgetRequest.describe('The cap for all answers together.'),
    separateBudget: separateBudget.optional(),
  },
  registrationExample,
)

/** Public facts of a dataset. */
export const dataset = object('Dataset', 'Public facts of a dataset.', {
  ...declaration,
  columns,
  derived: listOf(derivedFacts)
    .optional()
    .describe('Columns that are computed from the others, and that questions name as they name those.'),
  synthetic,
  timing,
  failureLimit,
  queryLimits,
  version: string(
    'Number of the present version of the rows. `GET /v1/datasets/{dataset}/versions` lists all.',
  ),
  reachable: boolean(
    'Live tables only: false while the database cannot be reached, or its connection is not configured. A query fails ' +
      'then, and a repeat is answered under the same charge.',
  ).optional(),
  rows: z
    .int()
    .min(0)
    .optional()
    .describe(
      'Number of rows. Only with `change-one` neighbours and the privacy unit `row`, where it is public.',
    ),
  people: z
    .int()
    .min(0)
    .optional()
    .describe(
      'Number of people. Only with `change-one` neighbours and the privacy unit `person`, where it is public.',
    ),
  coverage: coverage.optional(),
  coverageStatement: string(
    'The same in words, also where it is not known. Absent where rows are the privacy units.',
  ).optional(),
  registeredAt: time,
  suspended: suspensionReason
    .optional()
    .describe(
      'For custodians only, and only while the dataset is suspended: the reason. `GET /v1/datasets/{dataset}/suspension` ' +
        'explains it.',
    ),
})

const exactCount = z.int().min(0)

const misfits = object('Misfits', 'Values of a column that broke one rule.', {
  rule: z
    .enum([
      'missing',
      'not-a-number',
      'not-a-whole-number',
      'not-a-date',
      'not-a-timestamp',
      'not-a-boolean',
      'not-a-category',
      'not-a-text',
    ])
    .describe(
      'Rule that the values broke. `missing`: NULL in a column that is not nullable, or no identifier.',
    ),
  values: exactCount.describe('Number of the values.'),
  unit: z
    .enum(['line', 'record', 'row'])
    .optional()
    .describe(
      'Absent for tables, whose rows have no places. Unit of the places, counted from 1. `line`: lines of the CSV file, with its header. `record`: records below the ' +
        'header, where they are not lines because values have line breaks or lines are blank. `row`: rows of the Parquet ' +
        'file.',
    ),
  first: listOf(exactCount)
    .optional()
    .describe('Places of the first values, five at most. Absent for tables.'),
  table: string(
    'The table of a joined source that has these places: that of the column, or the table of the rows where a reference finds no ' +
      'row. `values` counts joined rows, of which several can have the value of one place.',
  ).optional(),
})

const ingestionCounts = object(
  'IngestionCounts',
  'Exact numbers about the source, shown to custodians only. They are not protected by noise: do not publish them.',
  {
    rowsRead: exactCount.describe(
      'Rows of the source; of joined tables those of the table to which no join leads.',
    ),
    rowsWithoutIdentifier: exactCount.describe('Rows left out because an identifier is missing.'),
    rowsBeyondMaxRows: exactCount.describe('Rows left out because their person has more than `maxRows`.'),
    rowsStored: exactCount.describe('Rows that queries read.'),
    people: exactCount
      .optional()
      .describe(
        'People with stored rows; of joined tables all people of the table at which the joins of people end. Only with the ' +
          'privacy unit `person`.',
      ),
    joins: listOf(
      z.strictObject({
        from: z.string(),
        to: z.string(),
        missing: exactCount.describe(
          'Rows without a reference; of two facts, rows of either table without a person.',
        ),
        dangling: exactCount.describe(
          'Rows whose reference leads nowhere; of two facts, rows of either table whose person has none in the other.',
        ),
        beyondMaxRows: z
          .record(z.string(), exactCount)
          .optional()
          .describe('Of two facts, the rows of each table beyond those that its people keep.'),
      }),
    )
      .optional()
      .describe(
        'For each join of a joined source, the rows of the source for which the other table has none. The rule `dangling` of the ' +
          'join says what became of them.',
      ),
    invalidValues: listOf(
      z.strictObject({
        column: columnName,
        values: exactCount.describe(
          'Values that did not fit the declaration of the column. In rows left out for a missing identifier, the other values ' +
            'are not counted.',
        ),
        misfits: listOf(misfits).describe('The values by the rule that they broke.'),
      }),
    ),
    clampedValues: listOf(z.strictObject({ column: columnName, values: exactCount })).describe(
      'For each column with bounds, the number of values beyond them, which are clamped to the nearer bound. Half-widths do not ' +
        'cover that. If there are many, think again which values are plausible, from what you know outside of this data.',
    ),
  },
)

/** Response to a registration. */
export const registeredDataset = dataset
  .extend({
    ingestion: ingestionCounts.describe('What ingestion counted.'),
    disclosureRisk: budgetRisk,
  })
  .meta({
    id: 'RegisteredDataset',
    description:
      'Public facts of a dataset, what its ingestion counted, and the disclosure risk of its whole budget.',
  })

/** Response to a registration with `dryRun`. */
export const triedRegistration = object(
  'TriedRegistration',
  'What the ingestion of a source counted, and the disclosure risk of its whole budget. Nothing was published.',
  {
    dryRun: z.literal(true),
    id: datasetId,
    leftOut: leftOut.optional(),
    ingestion: ingestionCounts,
    disclosureRisk: budgetRisk,
  },
)

const dryRun = z
  .enum(['true', 'false'])
  .default('false')
  .describe(
    'True checks the declaration and every value of the source, and publishes and records nothing. Keys that are ' +
      'limited to datasets can check their own uploads only.',
  )

/** Query parameters of POST /v1/datasets. */
export const registrationQuery = z.strictObject({ candidates, dryRun })

/** Query parameters of POST /v1/datasets/{dataset}/versions. */
export const versionQuery = z.strictObject({ dryRun })

/** PATCH /v1/datasets/{dataset} */
export const descriptionChange = object(
  'DescriptionChange',
  'Texts that describe a dataset. An absent text stays as it is; `null` removes it.',
  {
    title: title.optional(),
    description: datasetDescription.nullable().optional(),
    columns: z
      .array(
        z.strictObject({
          name: columnName,
          description: columnDescription.nullable().optional(),
          unit: unit.nullable().optional(),
        }),
      )
      .max(200)
      .readonly()
      .optional()
      .describe('Columns whose texts change.'),
  },
  { title: 'Synthetic census', columns: [{ name: 'Earnings', unit: 'EUR' }] },
)

/** POST /v1/datasets/{dataset}/versions */
export const newVersion = object(
  'NewVersion',
  'New rows of a dataset, under its privacy unit, neighbours and budget.',
  {
    source: source
      .optional()
      .describe('Source of the rows. Default: the source of the present version, which is read again.'),
    columns: columns
      .optional()
      .describe(
        'All columns. They may widen those of the present version: further columns, further categories after the known ones, ' +
          'wider bounds, higher limits. Default: the columns of the present version.',
      ),
    derived: derived.describe(
      'All derived columns: those of the present version with their expressions, and further ones. Default: those of the present ' +
        'version.',
    ),
    separateBudget: separateBudget.optional(),
  },
  { source: { kind: 'population', rows: 1_200, seed: 'census-small, a year later' } },
)

/** Response to a new version. */
export const publishedVersion = dataset
  .extend({ ingestion: ingestionCounts.optional().describe('What ingestion counted.') })
  .meta({
    id: 'PublishedVersion',
    description: 'Public facts of a dataset, and what the ingestion of its version counted.',
  })

/** Response to a new version with `dryRun`. */
export const triedVersion = object(
  'TriedVersion',
  'What the ingestion of a version would count. Nothing was published.',
  {
    dryRun: z.literal(true),
    id: datasetId,
    unchanged: boolean(
      'True if the present version has the same rows and declaration: publishing would change nothing.',
    ),
    ingestion: ingestionCounts,
  },
)

/** GET /v1/datasets/{dataset}/versions */
export const versionList = object('VersionList', 'Versions of the present registration of a dataset.', {
  versions: listOf(
    z.strictObject({
      version: z.string(),
      publishedAt: time.describe('Time in UTC.'),
      rows: dataset.shape.rows,
      people: dataset.shape.people,
      coverage: coverage.optional(),
    }),
  ).describe('The newest first.'),
  next,
})

/** GET /v1/datasets */
export const datasetList = object('DatasetList', 'Registered datasets with their public facts, by id.', {
  datasets: listOf(dataset),
  next,
})
