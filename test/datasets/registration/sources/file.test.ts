import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fileSource } from '../../../../src/datasets/registration/sources/file.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'

let directory = ''
let outside = ''
beforeAll(async () => {
  outside = await mkdtemp(path.join(tmpdir(), 'sotto-outside-'))
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-data-'))
  await writeFile(path.join(outside, 'secret.csv'), 'a\n1\n')
  await mkdir(path.join(directory, 'year 2025'))
  await mkdir(path.join(directory, 'folder.csv'))
  await writeFile(path.join(directory, 'year 2025', 'people-1.csv'), 'a\n1\n')
  await writeFile(path.join(directory, 'ledger.sqlite'), '')
  await symlink(path.join(outside, 'secret.csv'), path.join(directory, 'link.csv'))
  await symlink(outside, path.join(directory, 'linked'))
})
afterAll(async () => {
  await rm(directory, { recursive: true })
  await rm(outside, { recursive: true })
})

const copyOf = (sourcePath: string, format: 'csv' | 'parquet' = 'csv') =>
  fileSource.copy(
    { kind: 'file', path: sourcePath, format },
    { dataDirectory: directory, copy: path.join(directory, 'copy'), principal: 'custodian' },
  )

test('a file below the data folder is copied, readable by its owner alone, and digested', async () => {
  const { format, digest } = await copyOf('year 2025/people-1.csv')
  expect(format).toBe('csv')
  const text = await readFile(path.join(directory, 'copy'), 'utf8')
  expect(text).toBe('a\n1\n')
  expect(digest).toBe(createHash('sha256').update(text).digest('hex'))
  expect((await stat(path.join(directory, 'copy'))).mode & 0o777).toBe(0o600)
})

test.each([
  '../secret.csv',
  'year 2025/../../secret.csv',
  '..',
  '/etc/passwd.csv',
  'C:/people.csv',
  'http://127.0.0.1/people.csv',
  's3://bucket/people.csv',
  'file:///etc/passwd.csv',
  '*.csv',
  'year 2025/people-?.csv',
  'people[1].csv',
  '{people}.csv',
  'year 2025\\people-1.csv',
  'year 2025//people-1.csv',
  './year 2025/people-1.csv',
  'people\u0000.csv',
  "people'.csv",
  '~/people.csv',
  'link.csv',
  'linked/secret.csv',
  'folder.csv',
  'missing.csv',
  'ledger.sqlite',
  '',
])('%j is refused before it is opened', async (sourcePath) => {
  const refused = copyOf(sourcePath)
  await expect(refused).rejects.toThrow(Refusal)
  await expect(refused).rejects.toMatchObject({ code: 'source-refused', errors: [{ field: 'source.path' }] })
})

test('the extension must be that of the format', async () => {
  await expect(copyOf('year 2025/people-1.csv', 'parquet')).rejects.toThrow('.parquet')
})

test.each([
  ['rows.csv.gz', {}, { delimiter: ',' }],
  ['rows.tsv', { decimal: ',' }, { delimiter: 'tab', decimal: ',' }],
  ['rows.tsv.gz', { delimiter: '|' }, { delimiter: '|' }],
  ['rows.txt', { delimiter: 'space', header: false }, { delimiter: 'space', header: false }],
] as const)('%s is CSV in a dialect', async (name, csv, dialect) => {
  await writeFile(path.join(directory, name), 'a\n1\n')
  const source = { kind: 'file', path: name, format: 'csv', csv } as const
  const paths = { dataDirectory: directory, copy: path.join(directory, 'copy'), principal: 'custodian' }
  expect(await fileSource.copy(source, paths)).toMatchObject({ format: 'csv', csv: dialect })
  await expect(copyOf(name, 'parquet')).rejects.toThrow('must end in .parquet')
})

test.each(['people.gz', 'people.csv.gz.key', 'peoplecsv', 'people.parquet.gz'])(
  '%s is not CSV',
  async (name) => {
    await writeFile(path.join(directory, name), 'a\n1\n')
    await expect(copyOf(name)).rejects.toThrow('must end in .csv, .tsv or .txt')
  },
)

test('a file beyond the bounds is refused before it is copied', async () => {
  const copy = path.join(directory, 'too-large-copy')
  const source = { kind: 'file', path: 'year 2025/people-1.csv', format: 'csv' } as const
  const paths = { dataDirectory: directory, copy, principal: 'custodian' }
  const refused = fileSource.copy(source, { ...paths, bounds: { maxBytes: 3 } })
  await expect(refused).rejects.toThrow('must have at most 3 bytes')
  await expect(stat(copy)).rejects.toThrow('ENOENT')
  await fileSource.copy(source, { ...paths, bounds: { maxBytes: 4 } })
})
