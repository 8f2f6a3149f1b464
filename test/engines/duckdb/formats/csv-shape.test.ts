import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCsvShape } from '../../../../src/engines/duckdb/formats/csv-shape.ts'
import { temporaryFolder } from '../../fixture.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => folder.remove())

async function shapeOf(content: string | Uint8Array) {
  const path = join(folder.path, 'file.csv')
  await writeFile(path, content)
  return readCsvShape(path)
}

describe('the shape of a CSV file', () => {
  it.each([
    ['plain', 'x,y\n1,2\n3,4\n', ['x', 'y'], 2],
    ['no last line end', 'x,y\n1,2\n3,4', ['x', 'y'], 2],
    ['CRLF', 'x,y\r\n1,2\r\n', ['x', 'y'], 1],
    ['a byte order mark', '\u{feff}x,y\n1,2\n', ['x', 'y'], 1],
    ['a byte order mark and a quote', '\u{feff}"x",y\n1,2\n', ['x', 'y'], 1],
    ['quoted names', '"a, ""b""\nc",y\n1,2\n', ['a, "b"\nc', 'y'], 1],
    ['empty names', ',y,\n1,2,3\n', ['', 'y', ''], 1],
    ['names that differ in case', 'Age,age\n1,2\n', ['Age', 'age'], 1],
    ['quoted line ends and commas', 'x,y\n"1\n,2",3\n', ['x', 'y'], 1],
    ['a doubled quote', 'x,y\n"1""2",""""\n', ['x', 'y'], 1],
    ['blank lines between records of two fields', 'x,y\n\n1,2\n\n\n3,4\n\n', ['x', 'y'], 2],
    ['blank lines are records of one field', 'x\n1\n\n2\n', ['x'], 3],
    ['quoted empty fields', 'x\n""\n""\n', ['x'], 2],
    ['a header alone', 'x,y\n', ['x', 'y'], 0],
    ['a header alone without a line end', 'x,y', ['x', 'y'], 0],
  ])('takes %s', async (_, content, header, records) => {
    expect(await shapeOf(content)).toEqual({ header, records })
  })

  it.each([
    ['nothing at all', ''],
    ['a blank header', '\nx,y\n1,2\n'],
    ['a short record', 'x,y\n1\n'],
    ['a long record', 'x,y\n1,2,3\n'],
    ['an unterminated quote', 'x,y\n1,2\n"3,4\n5,6\n'],
    ['an unterminated quote in the header', '"x,y\n1,2\n'],
    ['a quote within an unquoted field', 'x,y\n1"2,3\n'],
    ['text after a closing quote', 'x,y\n"1"2,3\n'],
    ['a space before a quote', 'x,y\n "1",3\n'],
    ['a lone carriage return', 'x,y\r1,2\r'],
    ['a carriage return within a field', 'x,y\n1\r2,3\n'],
    ['a header without end', 'x'.repeat(1_100_000)],
  ])('refuses %s', async (_, content) => {
    expect(await shapeOf(content)).toBeUndefined()
  })

  it('is the same wherever the file is cut into chunks', async () => {
    // The reader takes 1 MiB at a time: records of 7 bytes put a boundary at every place of a record.
    const record = '"1\n",2\n'
    const records = 700_000
    expect(await shapeOf(`x,y\n${record.repeat(records)}`)).toEqual({ header: ['x', 'y'], records })
  })
})
