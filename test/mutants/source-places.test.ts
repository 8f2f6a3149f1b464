import { expect, it } from 'vitest'
import { fileWith, placesOf, sourceFile } from './source-places.ts'

const SOURCE = 'f(\n  one,\n  two,\n)\nreturn one >= two\n'

it.each([
  ['f(one, two)', 'f(\n  one,\n  two,\n)'],
  ['return  one', 'return one'],
  ['one >', 'one >'],
  ['one, two,', 'one,\n  two,'],
])('%s is found whatever its format', (find, place) => {
  expect(placesOf(find, SOURCE).map(({ start, end }) => SOURCE.slice(start, end))).toEqual([place])
})

it('white space at an end separates words', () => {
  expect(placesOf('one > ', SOURCE)).toEqual([])
})

it('a text may occur several times, or not at all', () => {
  expect([placesOf('one', SOURCE).length, placesOf('three', SOURCE).length]).toEqual([2, 0])
})

it('a file is found by its name in folders that moved, unless several have the name', () => {
  expect(sourceFile('no/longer/here/app.ts')).toBe('app.ts')
  expect(() => sourceFile('no-such-file.ts')).toThrow('no file')
  expect(() => sourceFile('no/longer/reads.ts')).toThrow('may be any of')
})

it('a text is found in another file if it is long and stands there alone', () => {
  expect(fileWith('export function placedIn', 'app.ts')).toBe('app.ts')
  for (const name of ['app.ts', 'no-such-file.ts'])
    expect(fileWith('export function must<Value>(value: Value | undefined', name)).toMatch(/must\.ts$/)
  expect(fileWith("import { must } from '../../must.ts'", 'app.ts')).toBe('app.ts')
})
