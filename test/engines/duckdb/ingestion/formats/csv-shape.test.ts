import { describe, expect, it } from 'vitest'
import { csvDialect } from '../../../../../src/core/dataset/dataset.ts'
import { createCsvShapeReader } from '../../../../../src/engines/duckdb/ingestion/formats/csv-shape.ts'

/** The shape of a text that arrives in chunks of a size. */
function shapeOf(content: string, given: Parameters<typeof csvDialect>[0] = {}, chunkBytes = 1_000_000) {
  const reader = createCsvShapeReader(csvDialect(given))
  const bytes = Buffer.from(content)
  for (let at = 0; at < bytes.length; at += chunkBytes)
    if (!reader.read(bytes.subarray(at, at + chunkBytes))) return undefined
  return reader.end()
}

describe('the shape of a CSV file', () => {
  it.each([
    ['plain', 'x,y\n1,2\n3,4\n', ['x', 'y'], 2],
    ['no last line end', 'x,y\n1,2\n3,4', ['x', 'y'], 2],
    ['CRLF', 'x,y\r\n1,2\r\n', ['x', 'y'], 1],
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
  ])('takes %s, wherever it is cut into chunks', (_, content, names, records) => {
    expect(shapeOf(content)).toMatchObject({ names, records })
    for (const chunkBytes of [1, 2, 3]) expect(shapeOf(content, {}, chunkBytes)).toEqual(shapeOf(content))
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
    ['mixed line ends', 'x,y\n1,2\r\n3,4\n'],
    ['a lone carriage return', 'x,y\r1,2\r'],
    ['a carriage return within a field', 'x,y\n1\r2,3\n'],
    ['a quote before the header', 'x"y\n1\n'],
  ])('refuses %s, wherever it is cut into chunks', (_, content) => {
    for (const chunkBytes of [1, 2, 3, 100]) expect(shapeOf(content, {}, chunkBytes)).toBeUndefined()
  })

  it.each<[string, Parameters<typeof csvDialect>[0], string, string[], number]>([
    ['semicolons', { delimiter: ';' }, 'x;y\n1,5;2\n', ['x', 'y'], 1],
    ['tabs', { delimiter: 'tab' }, 'x\ty\n1, 5\t2\n', ['x', 'y'], 1],
    ['bars', { delimiter: '|' }, 'x|y\n1|2\n', ['x', 'y'], 1],
    ['apostrophes', { quote: "'" }, `'x''s',y\n'1,\n2',"3"\n`, ["x's", 'y'], 1],
    ['no quotes', { quote: 'none' }, `x,y"\n"1,2'\n`, ['x', 'y"'], 1],
    ['no header', { header: false }, '1,2\n3,4\n', ['column1', 'column2'], 2],
    ['no header and quotes', { header: false }, '"1\n",2\n3,4', ['column1', 'column2'], 2],
    ['no header and one record', { header: false }, '1', ['column1'], 1],
  ])('takes %s where they are declared', (_, dialect, content, names, records) => {
    expect(shapeOf(content, dialect)).toMatchObject({ names, records })
    for (const chunkBytes of [1, 2, 3])
      expect(shapeOf(content, dialect, chunkBytes)).toEqual(shapeOf(content, dialect))
  })

  it('has the size of the longest value of each column, without its quotes', () => {
    const content = 'a long name,y\r\n"1""2",éé\r\n123,"a\nb,"\r\n'
    expect(shapeOf(content)?.longestValues).toEqual([3, 4])
    expect(shapeOf(content, { header: false })?.longestValues).toEqual([11, 4])
    expect(shapeOf('x,y\n')?.longestValues).toEqual([0, 0])
  })

  it.each([
    ['plain records', 'x,y\n1,2\n3,4', true],
    ['quoted records', 'x,y\r\n"1","2"\r\n"3","4"\r\n', true],
    ['blank lines at the end', 'x,y\n1,2\n\n\n', true],
    ['a blank line between', 'x,y\n1,2\n\n3,4\n', false],
    ['a blank line after the header', 'x,y\n\n3,4\n', false],
    ['a line break in quotes', 'x,y\n1,"2\n"\n', false],
    ['a line break in the quotes of a name', 'x,"y\n"\n1,2\n', false],
    ['a quote and a line break after it', 'x,y\n1,"2"\n"3",4\n', true],
  ])('tells if records are lines: %s', (_, content, recordsAreLines) => {
    for (const chunkBytes of [1, 2, 3, 100])
      expect(shapeOf(content, {}, chunkBytes)).toMatchObject({ recordsAreLines })
  })

  it.each([
    ['a header without end', 'x'.repeat(2_000_000)],
    ['a record without end', `x,y\n1,"${'x\n'.repeat(1_000_000)}`],
    ['a record that ends', `x,y\n1,${'x'.repeat(1_999_000)}\n`],
  ])('refuses %s after the largest record', (_, content) => {
    expect(() => shapeOf(content)).toThrow('source: must not have a record of more than 1999000 bytes')
  })
})
