import type { GridColumn, QueryableColumn, StringColumn } from '../../core/dataset/dataset.ts'
import { entry } from '../../privacy/must.ts'
import { cumulativeShares, placeOf, seededUniform, type Uniform } from '../sampling.ts'
import type { DummyDeclaration, DummySize, DummyValue } from './declaration.ts'
import { createJoiner, dummyIdentifier } from './joined.ts'

/*
 * Made-up rows. They look plausible for practice: numbers are bell-shaped or skewed, times become more frequent, a few
 * values are at the bounds, some categories are common and others rare, and numbers of one row are correlated. Only sums,
 * products, quotients and square roots of doubles are used, which are the same on every machine.
 */

/** Share of NULL in nullable columns. */
const NULL_SHARE = 0.05

/** Share of the values of a grid column at each of its bounds. Values beyond the bounds are clamped to them in real data. */
const BOUND_SHARE = 0.01

/** Share of `true`. */
const TRUE_SHARE = 0.3

/**
 * Generates rows from a declaration alone, with values in the order of its columns. The same declaration, number and seed
 * give the same rows on every machine. A person has at most the declared number of rows, and some have exactly that many if
 * there are at least ten times as many rows. Identifiers are never NULL, because rows without one are not stored. Joined
 * rows that refer to the same row of a table agree in its columns.
 */
export function* dummyRows(
  declaration: DummyDeclaration,
  { rows, seed }: DummySize,
): Generator<readonly DummyValue[]> {
  const { columns, privacyUnit, joins } = declaration
  const uniform = seededUniform(seed)
  const joined = joins && createJoiner({ ...declaration, joins }, uniform)
  // In a CSV file NULL as the only value of a row would be a blank line, which readers skip.
  const hasNulls = columns.length > 1
  const drawers = columns.map((column, position) =>
    column.type === 'identifier' ? identifier : drawer(column, position, uniform, hasNulls),
  )
  if (privacyUnit.kind === 'row') {
    for (let row = 0; row < rows; row += 1) {
      const latent = uniform()
      const values = drawers.map((draw) => draw(latent, row))
      yield joined?.(values, row, row) ?? values
    }
    return
  }
  const owners = ownersOfRows(rows, privacyUnit.maxRows, uniform)
  const people = new Map<number, Person>()
  for (let row = 0; row < rows; row += 1) {
    const number = entry(owners, row)
    const known = people.get(number)
    const own = known ?? { latent: uniform(), constants: [] }
    const latent = (own.latent + uniform()) / 2
    const values = columns.map((column, i): DummyValue => {
      const isConstant = column.type !== 'identifier' && column.constantPerPerson === true
      const constant = isConstant ? own.constants[i] : undefined
      const isOwner = column.name === privacyUnit.column
      return constant !== undefined ? constant : entry(drawers, i)(latent, isOwner ? number : row)
    })
    if (known === undefined) people.set(number, { latent: own.latent, constants: values })
    yield joined?.(values, row, number) ?? values
  }
}

/** Facts of a made-up person. */
interface Person {
  /** Number that the values of a person's rows have in common. */
  readonly latent: number
  /** Values of the person's first row, by the place of the column. Some columns have the same in all rows. */
  readonly constants: readonly DummyValue[]
}

/**
 * Draws a value of a column.
 * @param latent a uniform number that all columns of a row share
 * @param number the number of the row, or in the column of people that of the person
 */
type Draw = (latent: number, number: number) => DummyValue

const identifier: Draw = (_, number) => dummyIdentifier(number)

/** @param position decides whether a column grows or falls with the number that a row's columns share */
function drawer(column: QueryableColumn, position: number, uniform: Uniform, hasNulls: boolean): Draw {
  const draw = drawerOfValues(column, position, uniform)
  return column.nullable && hasNulls
    ? (latent, number) => (uniform() < NULL_SHARE ? null : draw(latent, number))
    : draw
}

function drawerOfValues(column: QueryableColumn, position: number, uniform: Uniform): Draw {
  switch (column.type) {
    case 'integer':
    case 'number': {
      const shape = isSkewed(column) ? skewed : bellShaped
      return drawerOfIndexes(column, uniform, (latent) =>
        shape(position % 2 === 0 ? latent : 1 - latent, uniform),
      )
    }
    case 'date':
    case 'timestamp':
      return drawerOfIndexes(column, uniform, () => moreFrequentLater(uniform))
    case 'boolean':
      return () => uniform() < TRUE_SHARE
    case 'category': {
      const shares = cumulativeShares(column.categories.length, (place) => 1 / place)
      return () => placeOf(shares, uniform())
    }
    case 'string':
      return drawerOfTexts(column, uniform)
  }
}

/** True for amounts that begin at 0 and have many possible values, such as incomes. Small ones are more frequent. */
function isSkewed({ lowerIndex, upperIndex }: GridColumn): boolean {
  return lowerIndex === 0n && upperIndex >= 1_000n
}

const bellShaped = (latent: number, uniform: Uniform): number => (latent + uniform() + uniform()) / 3

const skewed = (latent: number, uniform: Uniform): number => latent * uniform() * uniform()

/** The square root of a uniform number makes later times more frequent. */
const moreFrequentLater = (uniform: Uniform): number => (uniform() < 0.5 ? uniform() : Math.sqrt(uniform()))

/**
 * Draws grid indexes between the bounds. If the number of distinct values is limited, it uses equally spaced points of the
 * grid only.
 * @param shape draws a number from 0 to 1
 */
function drawerOfIndexes(
  { lowerIndex, upperIndex, rankable }: GridColumn,
  uniform: Uniform,
  shape: (latent: number) => number,
): Draw {
  const points = upperIndex - lowerIndex + 1n
  const most = rankable === undefined ? points : BigInt(rankable.maxValues)
  const stride = points <= most ? 1n : (points + most - 1n) / most
  const last = (points - 1n) / stride
  const lastNumber = Number(last)
  return (latent) => {
    const place = uniform()
    if (place < BOUND_SHARE) return lowerIndex
    if (place >= 1 - BOUND_SHARE) return lowerIndex + last * stride
    const drawn = BigInt(Math.floor(shape(latent) * (lastNumber + 1)))
    return lowerIndex + (drawn > last ? last : drawn) * stride
  }
}

/** Number of different words. */
const MOST_WORDS = 200

/** Draws single words for a column with declared limits, because its common values can be asked for; two words otherwise. */
function drawerOfTexts({ selectable }: StringColumn, uniform: Uniform): Draw {
  const words = selectable === undefined ? MOST_WORDS : Math.min(MOST_WORDS, selectable.maxValues)
  const shares = cumulativeShares(words, (place) => 1 / place)
  const word = () => wordAt(placeOf(shares, uniform()))
  return selectable === undefined ? () => `${word()} ${word()}` : () => word().slice(0, selectable.maxLength)
}

const SYLLABLES = [
  ...['ba', 'de', 'fi', 'go', 'ku', 'la', 'me', 'ni'],
  ...['po', 'ru', 'sa', 'te', 'vi', 'wo', 'xu', 'za'],
] as const

/** Returns the made-up word at a place below 4,096. The factor is odd, so no two places have the same word. */
function wordAt(place: number): string {
  const code = (place * 2_741 + 1_618) % 4_096
  return [code >> 8, (code >> 4) & 15, code & 15].map((digit) => SYLLABLES[digit]).join('')
}

/** Size of the groups of people of whom the first has as many rows as a person may have. */
const PEOPLE_WITH_MOST_ROWS = 50

/** Largest share of the rows that one person has. */
const LARGEST_SHARE = 10

/** Returns the number of the person that each row belongs to. Most people have few rows, and their rows are not adjacent. */
function ownersOfRows(rows: number, maxRows: number, uniform: Uniform): Int32Array {
  const most = Math.min(maxRows, Math.max(1, Math.floor(rows / LARGEST_SHARE)))
  const owners = new Int32Array(rows)
  let row = 0
  for (let person = 0; row < rows; person += 1) {
    const share = uniform()
    const own =
      person % PEOPLE_WITH_MOST_ROWS === 0 ? most : 1 + Math.floor(most * share * share * share * share)
    const end = Math.min(rows, row + own)
    owners.fill(person, row, end)
    row = end
  }
  // Fisher and Yates.
  for (let place = rows - 1; place > 0; place -= 1) {
    const other = Math.floor(uniform() * (place + 1))
    const moved = entry(owners, place)
    owners[place] = entry(owners, other)
    owners[other] = moved
  }
  return owners
}
