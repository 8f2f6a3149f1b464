import type { Schemas } from '../../../api/schemas.ts'

export type EpsilonRequest = Schemas['EpsilonRequest']
export type Universe = EpsilonRequest['universe']

export type ParsedUniverse =
  | { readonly valid: true; readonly universe: Universe; readonly people: number }
  | { readonly valid: false; readonly rule: string }

/** The school of Lee and Clifton 2011, section 5. */
export const SCHOOL = 'school_year, absence_days\n1, 1\n2, 2\n3, 3\n4, 10'

/**
 * Reads a table of people: names of columns in the first line, then one person in each line. Commas or tabs separate
 * columns; spaces separate the values of a person with several rows.
 */
export function parseUniverse(text: string): ParsedUniverse {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const [header, ...people] = lines.map((line) => line.split(/[,\t]/).map((cell) => cell.trim()))
  if (header === undefined || header.includes('')) return invalid('The first line must name the columns.')
  if (new Set(header).size < header.length) return invalid('Each column must have a name of its own.')
  if (people.length < 2) return invalid('There must be at least two people, one in each line.')
  const columns = header.map((): (number | number[])[] => [])
  for (const [index, cells] of people.entries()) {
    const line = index + 2
    if (cells.length !== header.length)
      return invalid(`Line ${line} must have ${header.length} ${header.length === 1 ? 'value' : 'values'}.`)
    for (const [place, cell] of cells.entries()) {
      const values = cell.split(/\s+/).map((value) => (value === '' ? Number.NaN : Number(value)))
      if (!values.every(Number.isFinite)) return invalid(`Line ${line}: “${cell}” is not a number.`)
      columns[place]?.push(values.length === 1 ? (values[0] ?? 0) : values)
    }
  }
  const universe = Object.fromEntries(header.map((name, place) => [name, columns[place] ?? []]))
  return { valid: true, universe, people: people.length }
}

/** Returns the probability with which a guess without any answer names the right set of people. */
export function blindGuess(people: number, released: number): number {
  let worlds = 1
  for (let chosen = 1; chosen <= Math.min(released, people - released); chosen += 1)
    worlds = (worlds * (people - chosen + 1)) / chosen
  return 1 / worlds
}

function invalid(rule: string): ParsedUniverse {
  return { valid: false, rule }
}
