import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'
import type { Column, DateFormat, TemporalColumn } from '../../../../src/core/dataset/dataset.ts'
import { valueOfIndex } from '../../../../src/core/dataset/grid-value.ts'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { cases, describeOnce } from '../../../cases.ts'
import { folderForAll } from '../../../folders.ts'
import { column, storedRows, withDuckDb } from '../../fixture.ts'

const folder = folderForAll()

let files = 0
function nextPath(extension: string): string {
  files += 1
  return join(folder.path, `file-${files}.${extension}`)
}

/** Ingests texts of one column from a CSV file, and returns the stored values as ISO 8601 texts. */
async function fromCsv(declared: TemporalColumn, texts: readonly string[]): Promise<readonly unknown[]> {
  const sourcePath = nextPath('csv')
  const lines = texts.map((text, line) => `${line},"${text}"\n`)
  await writeFile(sourcePath, `line,${declared.name}\n${lines.join('')}`)
  return stored(declared, sourcePath, 'csv')
}

/** Ingests values of one column from a Parquet file that DuckDB writes. */
async function fromParquet(declared: TemporalColumn, select: string): Promise<readonly unknown[]> {
  const sourcePath = nextPath('parquet')
  await withDuckDb(':memory:', `COPY (${select}) TO '${sourcePath}' (FORMAT parquet)`)
  return stored(declared, sourcePath, 'parquet')
}

async function stored(declared: TemporalColumn, sourcePath: string, format: 'csv' | 'parquet') {
  const targetPath = nextPath('duckdb')
  const columns: readonly Column[] = [declared]
  await ingest({ sourcePath, format, columns, privacyUnit: { kind: 'row' }, targetPath })
  const rows = await storedRows(targetPath, columns)
  return rows.map((row) => {
    const index = row[declared.name]
    return typeof index === 'bigint' ? valueOfIndex(declared, index) : index
  })
}

const dates = (given = {}) => column.date('d', '2000-01-01', '2030-12-31', given)
const instants = (given = {}) => column.timestamp('t', '2000-01-01T00:00:00Z', '2030-12-31T23:59:59Z', given)

describeOnce('texts in a column of dates', () => {
  const table: readonly [string, string | null][] = [
    ['2024-02-29', '2024-02-29'],
    [' 2024-02-29 ', '2024-02-29'],
    // A time of day is cut off: the date is the one that is written, whatever the offset.
    ['2024-02-29T23:59', '2024-02-29'],
    ['2024-02-29 23:59:59.999999', '2024-02-29'],
    ['2024-02-29T23:59:59-11:00', '2024-02-29'],
    ['2024-02-29T00:30:00+14:00', '2024-02-29'],
    // Beyond the bounds: clamped.
    ['1999-12-31', '2000-01-01'],
    ['0001-01-01', '2000-01-01'],
    ['9999-12-31', '2030-12-31'],
    // Anything else does not fit.
    ['2023-02-29', null],
    ['2024-02-31', null],
    ['2024-13-01', null],
    ['2024-00-10', null],
    ['0000-01-01', null],
    ['0000-00-00', null],
    ['2024-2-9', null],
    ['24-02-29', null],
    ['02/29/2024', null],
    ['29.02.2024', null],
    ['2024/02/29', null],
    ['20240229', null],
    ['19782', null],
    ['2024-02', null],
    ['2024-W09-4', null],
    ['2024-02-29T24:00:00', null],
    ['2024-02-29T10', null],
    ['2024-02-29T10:61', null],
    ['2024-02-29x', null],
    ['-2024-02-29', null],
    ['12024-02-29', null],
    ['today', null],
    ['infinity', null],
    ['epoch', null],
    ['٢٠٢٤-٠٢-٢٩', null],
    ['', null],
  ]
  it('are stored as the date that they state, or do not fit', async () => {
    const texts = table.map(([text]) => text)
    const found = await fromCsv(dates(), texts)
    expect(texts.map((text, line) => [text, found[line]])).toEqual(table)
  })

  it.each<[DateFormat, readonly string[], readonly string[]]>([
    ['YYYY/MM/DD', ['2024/02/09', '2024/2/9', '2024/2/9 10:30'], ['2024-02-09', '9/2/2024', '2024/30/2']],
    [
      'YYYYMMDD',
      ['20240209', '20240209T10:30', '20240209 10:30'],
      ['2024209', '2024-02-09', '20240209T1030'],
    ],
    [
      'DD.MM.YYYY',
      ['09.02.2024', '9.2.2024', '9.2.2024 10:30:15'],
      ['2.30.2024', '09/02/2024', '09x02x2024'],
    ],
    ['DD/MM/YYYY', ['09/02/2024', '9/2/2024'], ['2/30/2024', '09.02.2024']],
    ['DD-MM-YYYY', ['09-02-2024', '9-2-2024'], ['02-30-2024', '2024-02-09']],
    ['MM/DD/YYYY', ['02/09/2024', '2/9/2024', '2/9/2024T10:30Z'], ['30/2/2024', '2-9-2024']],
    ['MM-DD-YYYY', ['02-09-2024', '2-9-2024'], ['30-02-2024', '2024-02-09']],
  ])('%s is read where it is declared', async (dateFormat, fitting, invalidValues) => {
    const found = await fromCsv(dates({ dateFormat }), [...fitting, ...invalidValues])
    expect(found).toEqual([...fitting.map(() => '2024-02-09'), ...invalidValues.map(() => null)])
  })
})

describeOnce('texts in a column of timestamps', () => {
  const table: readonly [string, string | null][] = [
    ['2024-02-29T13:30:15Z', '2024-02-29T13:30:15Z'],
    ['2024-02-29T13:30:15z', '2024-02-29T13:30:15Z'],
    ['2024-02-29t13:30:15Z', '2024-02-29T13:30:15Z'],
    ['2024-02-29 13:30:15', '2024-02-29T13:30:15Z'],
    ['2024-02-29 13:30:15 UTC', '2024-02-29T13:30:15Z'],
    ['2024-02-29 13:30:15 Z', '2024-02-29T13:30:15Z'],
    ['2024-02-29 13:30', '2024-02-29T13:30:00Z'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
    ['2024-02-29T13:30:15+02:00', '2024-02-29T11:30:15Z'],
    ['2024-02-29T13:30:15-0330', '2024-02-29T17:00:15Z'],
    ['2024-02-29 13:30:15+00', '2024-02-29T13:30:15Z'],
    ['2024-02-29 13:30:15.25+05:45', '2024-02-29T07:45:15Z'],
    // Rounded to the nearest step; the second half goes up.
    ['2024-02-29T13:30:15.4999999999', '2024-02-29T13:30:15Z'],
    ['2024-02-29T13:30:15.5', '2024-02-29T13:30:16Z'],
    ['2024-02-29T13:30:15,5', '2024-02-29T13:30:16Z'],
    ['2024-02-29T23:59:59.500000', '2024-03-01T00:00:00Z'],
    ['2024-02-29T13:30:15.499999999999999999999999999999', '2024-02-29T13:30:15Z'],
    // Clamped.
    ['1970-01-01T00:00:00Z', '2000-01-01T00:00:00Z'],
    ['2030-12-31T23:59:59.9Z', '2030-12-31T23:59:59Z'],
    ['9999-12-31T23:59:59-23:59', '2030-12-31T23:59:59Z'],
    ['0001-01-01T00:00:00+23:59', '2000-01-01T00:00:00Z'],
    // Invalid values.
    ['2024-02-31T13:30:15Z', null],
    ['2024-02-29T13:30:60Z', null],
    ['2024-02-29T25:30:15Z', null],
    ['2024-02-29T13:30:15+24:00', null],
    ['2024-02-29T13:30:15+', null],
    ['2024-02-29T13:30:15Z05:00', null],
    ['2024-02-29T13:30:15 Europe/Berlin', null],
    ['2024-02-29T13:30:15.Z', null],
    ['2024-02-29T1:30:15', null],
    ['2024-02-29T01:30 PM', null],
    ['1709213415', null],
    ['', null],
  ]
  it('are stored as their instant, or do not fit', async () => {
    const texts = table.map(([text]) => text)
    const found = await fromCsv(instants(), texts)
    expect(texts.map((text, line) => [text, found[line]])).toEqual(table)
  })

  it('with a step of an hour are rounded to the nearest hour', async () => {
    const hours = column.timestamp('t', '2000-01-01T00:00:00Z', '2030-12-31T00:00:00Z', { step: 3600n })
    const texts = ['2024-02-29T13:29:59.999Z', '2024-02-29T13:30:00Z', '1999-12-31T23:45Z']
    expect(await fromCsv(hours, texts)).toEqual([
      '2024-02-29T13:00:00Z',
      '2024-02-29T14:00:00Z',
      '2000-01-01T00:00:00Z',
    ])
  })
})

describe('local times', () => {
  it('that the clock skips or shows twice are one instant', async () => {
    const texts = [
      // Berlin, 31 March 2024: 02:00 to 03:00 does not exist and is read with the offset before, +01:00.
      '2024-03-31 01:59:59',
      '2024-03-31 02:00:00',
      '2024-03-31 02:59:59',
      '2024-03-31 03:00:00',
      // Berlin, 27 October 2024: 02:00 to 03:00 happens twice; the first is at +02:00.
      '2024-10-27 01:59:59',
      '2024-10-27 02:00:00',
      '2024-10-27 02:59:59',
      '2024-10-27 03:00:00',
      // An offset in the text counts more than the declared time zone.
      '2024-10-27 02:30:00+01:00',
      '2024-07-01',
    ]
    expect(await fromCsv(instants({ timeZone: 'Europe/Berlin' }), texts)).toEqual([
      '2024-03-31T00:59:59Z',
      '2024-03-31T01:00:00Z',
      '2024-03-31T01:59:59Z',
      '2024-03-31T01:00:00Z',
      '2024-10-26T23:59:59Z',
      '2024-10-27T00:00:00Z',
      '2024-10-27T00:59:59Z',
      '2024-10-27T02:00:00Z',
      '2024-10-27T01:30:00Z',
      '2024-06-30T22:00:00Z',
    ])
  })

  it.each(['America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Casablanca'])(
    'in %s are the instants of a calendar library',
    async (timeZone) => {
      const declared = column.timestamp('t', '1950-01-01T00:00:00Z', '2040-01-01T00:00:00Z', { timeZone })
      const local = fc.sample(fc.integer({ min: -600_000_000, max: 2_100_000_000 }), {
        numRuns: cases(2_000),
        seed: 13,
      })
      const nearChanges = changesOf(timeZone).flatMap((seconds) =>
        [-7200, -3600, -1801, -1800, -1, 0, 1, 1799, 1800, 3599, 3600, 7199].map((shift) => seconds + shift),
      )
      const texts = [...local, ...nearChanges].map((seconds) =>
        new Date(seconds * 1000).toISOString().slice(0, 19),
      )
      const expected = texts.map((text) =>
        Temporal.PlainDateTime.from(text)
          .toZonedDateTime(timeZone, { disambiguation: 'compatible' })
          .toInstant()
          .toString(),
      )
      expect(await fromCsv(declared, texts)).toEqual(expected)
    },
  )
})

/** Local times, in seconds, at which the clock of a time zone changes between 1960 and 2030. */
function changesOf(timeZone: string): readonly number[] {
  const changes: number[] = []
  let here = Temporal.Instant.from('1960-01-01T00:00:00Z').toZonedDateTimeISO(timeZone)
  for (;;) {
    const next = here.getTimeZoneTransition('next')
    if (next === null || next.year > 2030) return changes
    changes.push(next.epochMilliseconds / 1000 + here.offsetNanoseconds / 1e9)
    here = next
  }
}

describeOnce('Parquet', () => {
  const every = `SELECT * FROM (VALUES
    (DATE '2024-02-29', TIMESTAMP '2024-02-29 23:30:00.5', TIMESTAMP_MS '2024-02-29 23:30:00.499',
      TIMESTAMP_NS '2024-02-29 23:30:00.499999999', TIMESTAMPTZ '2024-02-29 23:30:00+00', TIMESTAMP_S '2024-02-29 23:30:00'),
    (DATE 'infinity', TIMESTAMP 'infinity', NULL, NULL, TIMESTAMPTZ 'infinity', NULL),
    (DATE '-infinity', TIMESTAMP '-infinity', NULL, NULL, TIMESTAMPTZ '-infinity', NULL),
    (DATE '5881580-07-10', TIMESTAMP '294247-01-10 04:00:54.775806', NULL, TIMESTAMP_NS '2262-04-11 23:47:16',
      TIMESTAMPTZ '294246-01-10 04:00:54+00', TIMESTAMP_S '290000-01-01 00:00:00'),
    (DATE '5877642-06-25 (BC)', TIMESTAMP '290309-12-22 (BC) 00:00:00', NULL, TIMESTAMP_NS '1677-09-22 00:00:00',
      TIMESTAMPTZ '290308-12-22 (BC) 00:00:00+00', TIMESTAMP_S '280000-01-01 (BC) 00:00:00'),
    (NULL, NULL, NULL, NULL, NULL, NULL)
  ) t(date, us, ms, ns, tz, s)`
  const named = (name: string) => `SELECT ${name} AS d, ${name} AS t FROM (${every})`
  const lowest = '2000-01-01'
  const highest = '2030-12-31'

  it.each([
    ['date', ['2024-02-29', highest, lowest, highest, lowest, null]],
    ['us', ['2024-02-29', highest, lowest, highest, lowest, null]],
    ['ms', ['2024-02-29', null, null, null, null, null]],
    ['ns', ['2024-02-29', null, null, highest, lowest, null]],
    ['tz', ['2024-02-29', highest, lowest, highest, lowest, null]],
    ['s', ['2024-02-29', null, null, highest, lowest, null]],
  ])('%s in a column of dates', async (name, expected) => {
    expect(await fromParquet(dates(), named(name))).toEqual(expected)
  })

  const [first, last] = ['2000-01-01T00:00:00Z', '2030-12-31T23:59:59Z']
  it.each([
    ['date', ['2024-02-29T00:00:00Z', last, first, last, first, null]],
    ['us', ['2024-02-29T23:30:01Z', last, first, last, first, null]],
    ['ms', ['2024-02-29T23:30:00Z', null, null, null, null, null]],
    ['ns', ['2024-02-29T23:30:00Z', null, null, last, first, null]],
    ['tz', ['2024-02-29T23:30:00Z', last, first, last, first, null]],
    ['s', ['2024-02-29T23:30:00Z', null, null, last, first, null]],
  ])('%s in a column of timestamps', async (name, expected) => {
    expect(await fromParquet(instants(), named(name))).toEqual(expected)
  })

  it('local timestamps are in the declared time zone, instants are not', async () => {
    const berlin = instants({ timeZone: 'Europe/Berlin' })
    const [local] = await fromParquet(berlin, named('us'))
    const [instant] = await fromParquet(berlin, named('tz'))
    const [day] = await fromParquet(berlin, named('date'))
    expect([local, instant, day]).toEqual([
      '2024-02-29T22:30:01Z',
      '2024-02-29T23:30:00Z',
      '2024-02-28T23:00:00Z',
    ])
  })

  it.each(['42', '20240229', '1.5', 'true', "TIME '13:30:00'", 'INTERVAL 3 DAYS', "BLOB '2024'", "{'a': 1}"])(
    'a value of another type does not fit: %s',
    async (value) => {
      expect(await fromParquet(dates(), `SELECT ${value} AS d`)).toEqual([null])
      expect(await fromParquet(instants(), `SELECT ${value} AS t`)).toEqual([null])
    },
  )

  it('texts in Parquet are read as in CSV', async () => {
    expect(await fromParquet(dates(), "SELECT unnest(['2024-02-29', '2024-02-30']) AS d")).toEqual([
      '2024-02-29',
      null,
    ])
  })
})

/**
 * Parquet files of one optional column `v`, which DuckDB cannot write: INT64 timestamps with the values 1709249400500,
 * the largest, the smallest, 253402300800000 and NULL, and an INT32 date with the values 19783, the largest, the
 * smallest, the smallest but one and NULL. Written by hyparquet-writer 0.17.0.
 */
const EXTREMES = {
  'microseconds without a zone':
    'UEFSMRUGFUQVPFwVChUCFQoVABUEFQAAAAMPICC0DjT3jQEAAP8JAQR/AAkBIIAA3B/Sd+YAABUEGSxIBHJvb3QVAgAVBCUCGAF2bIwSHCwAAAAAABYKGRwZHCYIHBUEGRUAGRgBdhUCFgoWbhZmJgg8NgIoCP////////9/GAgAAAAAAAAAgAAZHBUGFQAVAgAAABZuFgo2ZgAoCWh5cGFycXVldBkcHAAAAHUAAABQQVIx',
  'microseconds in UTC':
    'UEFSMRUGFUQVPFwVChUCFQoVABUEFQAAAAMPICC0DjT3jQEAAP8JAQR/AAkBIIAA3B/Sd+YAABUEGSxIBHJvb3QVAgAVBCUCGAF2bIwRHCwAAAAAABYKGRwZHCYIHBUEGRUAGRgBdhUCFgoWbhZmJgg8NgIoCP////////9/GAgAAAAAAAAAgAAZHBUGFQAVAgAAABZuFgo2ZgAoCWh5cGFycXVldBkcHAAAAHUAAABQQVIx',
  'nanoseconds without a zone':
    'UEFSMRUGFUQVPFwVChUCFQoVABUEFQAAAAMPICC0DjT3jQEAAP8JAQR/AAkBIIAA3B/Sd+YAABUEGSxIBHJvb3QVAgAVBCUCGAF2bIwSHDwAAAAAABYKGRwZHCYIHBUEGRUAGRgBdhUCFgoWbhZmJgg8NgIoCP////////9/GAgAAAAAAAAAgAAZHBUGFQAVAgAAABZuFgo2ZgAoCWh5cGFycXVldBkcHAAAAHUAAABQQVIx',
  'nanoseconds in UTC':
    'UEFSMRUGFUQVPFwVChUCFQoVABUEFQAAAAMPICC0DjT3jQEAAP8JAQR/AAkBIIAA3B/Sd+YAABUEGSxIBHJvb3QVAgAVBCUCGAF2bIwRHDwAAAAAABYKGRwZHCYIHBUEGRUAGRgBdhUCFgoWbhZmJgg8NgIoCP////////9/GAgAAAAAAAAAgAAZHBUGFQAVAgAAABZuFgo2ZgAoCWh5cGFycXVldBkcHAAAAHUAAABQQVIx',
  'milliseconds without a zone':
    'UEFSMRUGFUQVPFwVChUCFQoVABUEFQAAAAMPICC0DjT3jQEAAP8JAQR/AAkBIIAA3B/Sd+YAABUEGSxIBHJvb3QVAgAVBCUCGAF2bIwSHBwAAAAAABYKGRwZHCYIHBUEGRUAGRgBdhUCFgoWbhZmJgg8NgIoCP////////9/GAgAAAAAAAAAgAAZHBUGFQAVAgAAABZuFgo2ZgAoCWh5cGFycXVldBkcHAAAAHUAAABQQVIx',
  days: 'UEFSMRUGFSQVKFwVChUCFQoVABUEFQAAAAMPEDxHTQAA////fwAAAIABAACAFQQZLEgEcm9vdBUCABUCJQIYAXYlDAAWChkcGRwmCBwVAhkVABkYAXYVAhYKFk4WUiYIPDYCKAT///9/GAQAAACAABkcFQYVABUCAAAAFk4WCjZSACgJaHlwYXJxdWV0GRwcAAAAZgAAAFBBUjE=',
} as const

async function fromExtremes(name: keyof typeof EXTREMES, declared: TemporalColumn) {
  const sourcePath = nextPath('parquet')
  await writeFile(sourcePath, Buffer.from(EXTREMES[name], 'base64'))
  return stored(declared, sourcePath, 'parquet')
}

describeOnce('the extreme values of Parquet', () => {
  const [first, last] = ['2000-01-01', '2030-12-31']
  const date = column.date('v', first, last)
  const instant = column.timestamp('v', `${first}T00:00:00Z`, `${last}T23:59:59Z`, {
    timeZone: 'Pacific/Auckland',
  })

  it.each([
    'microseconds without a zone',
    'microseconds in UTC',
    'nanoseconds without a zone',
    'nanoseconds in UTC',
  ] as const)('are clamped: %s', async (name) => {
    expect(await fromExtremes(name, date)).toEqual([first, last, first, first, null])
    const [lowest, highest] = [`${first}T00:00:00Z`, `${last}T23:59:59Z`]
    expect(await fromExtremes(name, instant)).toEqual([lowest, highest, lowest, lowest, null])
  })

  it('are clamped: days', async () => {
    expect(await fromExtremes('days', date)).toEqual(['2024-03-01', last, first, first, null])
  })

  it.each(['microseconds without a zone', 'nanoseconds without a zone'] as const)(
    'do not fit a column of texts where DuckDB cannot print them: %s',
    async (name) => {
      const sourcePath = nextPath('parquet')
      await writeFile(sourcePath, Buffer.from(EXTREMES[name], 'base64'))
      const targetPath = nextPath('duckdb')
      const columns = [column.string('v')]
      await ingest({ sourcePath, format: 'parquet', columns, privacyUnit: { kind: 'row' }, targetPath })
      const texts = (await storedRows(targetPath, columns)).map(({ v }) => v)
      expect(texts).toEqual([
        expect.stringMatching(/^1970/),
        'infinity',
        null,
        expect.stringMatching(/^19/),
        null,
      ])
    },
  )

  it('in milliseconds, which DuckDB cannot read, are a refusal of the file', async () => {
    const refused = fromExtremes('milliseconds without a zone', instant)
    await expect(refused).rejects.toMatchObject({ code: 'source-unreadable', errors: [{ field: 'source' }] })
  })
})

it('any text is stored or does not fit, and none fails', async () => {
  const fragment = fc.constantFrom(
    '2024',
    '-',
    '02',
    '29',
    'T',
    ' ',
    '13',
    ':',
    '30',
    '.',
    '5',
    'Z',
    '+',
    '0',
    '9',
    '/',
    '00',
    'x',
    '\u0000',
    '∞',
    '1'.repeat(40),
  )
  const texts = fc.sample(
    fc.array(fragment, { maxLength: 14 }).map((parts) => parts.join('')),
    { numRuns: cases(5_000), seed: 7 },
  )
  const expected = (text: string) => {
    try {
      const iso =
        /^\d{4}-\d{2}-\d{2}(?=$|[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[+-]\d{2}(:?\d{2})?))?$)/.exec(
          text.trim(),
        )
      return iso === null ? null : Temporal.PlainDate.from(iso[0]).toString()
    } catch {
      return null
    }
  }
  const wide = column.date('d', '0001-01-01', '9999-12-31')
  const found = await fromCsv(wide, texts)
  const valid = found.filter((value) => value !== null)
  for (const value of valid) expect(value).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  // A valid time of day is checked above; here the date part decides.
  for (const [line, text] of texts.entries())
    if (found[line] !== null) expect(expected(text)).toBe(found[line])
})
