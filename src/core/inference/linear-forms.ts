import { defined } from '../../privacy/defined.ts'
import { entry, must } from '../../privacy/must.ts'
import type { Dataset } from '../dataset/dataset.ts'
import {
  type Aggregate,
  type Clamp,
  countsRowsOfPeople,
  type Statistic,
} from '../planner/language/aggregate.ts'
import { columnsOf, type ElementaryCells, predicateOf, textOf } from './elementary-cells.ts'

/*
 * Every exact integer of a sum or count is a linear form in unknown integers, such as the number of rows of an elementary
 * cell. Two integers are about the same rows, bounded in the same way, exactly if they share the unknowns.
 *
 * For people, `maxRows` bounds the rows of a dataset before any question, and a smaller bound of a question applies to the
 * rows that it selects. The unknowns of such a question name, beside the bound, which of a person's possible rows it
 * selects: a person who differs in the columns that are constant per person has other unknowns, so questions that select
 * the same rows but for these columns share them. A number of people is an unknown for each set of cells that a person's
 * rows can be in: people add up over columns that are constant per person only.
 */

/** Integer coefficients of unknowns, by their numbers. */
export type LinearForm = ReadonlyMap<number, bigint>

/** The places of the forms that have each unknown. */
export function placesByUnknown(
  forms: readonly LinearForm[],
  among: Iterable<number> = forms.keys(),
): ReadonlyMap<number, readonly number[]> {
  const places = new Map<number, number[]>()
  for (const place of among)
    for (const unknown of entry(forms, place).keys()) {
      const list = places.get(unknown)
      if (list === undefined) places.set(unknown, [place])
      else list.push(place)
    }
  return places
}

/** Numbers for unknowns, which are texts. */
export type Unknowns = (unknown: string) => number

/** Numbers unknowns in the order in which they occur. */
export function numberedUnknowns(): Unknowns {
  const numbers = new Map<string, number>()
  return (unknown) => {
    const number = numbers.get(unknown) ?? numbers.size
    numbers.set(unknown, number)
    return number
  }
}

/**
 * The linear forms of the integers of an aggregate, as `forms[statistic][cell]`; `undefined` for a statistic that is no
 * sum over rows or people.
 */
export function linearForms(
  aggregate: Aggregate,
  size: number,
  cells: ElementaryCells,
  unknowns: Unknowns,
  dataset: Dataset,
): readonly (readonly LinearForm[] | undefined)[] {
  if (countsRowsOfPeople(aggregate)) return [formsOfProfile(aggregate, unknowns)]
  const selection = selectionOf(aggregate, cells, dataset)
  return aggregate.statistics.map((statistic) => formsOf(statistic, size, selection, cells, unknowns))
}

/**
 * The numbers of people by the number of their rows before any bound: an unknown for each range of numbers, of the rows that satisfy
 * the same condition.
 */
function formsOfProfile({ where, groupBy }: Aggregate, unknowns: Unknowns): readonly LinearForm[] {
  return groupBy.flatMap((key) => {
    if (key.kind !== 'rows-of-person') throw new RangeError('the number of rows is the only key')
    const ranges = key.edges.slice(0, -1).map((edge, place) => [edge, entry(key.edges, place + 1)])
    return ranges.map((range) => new Map([[unknowns(textOf({ where, range })), 1n]]))
  })
}

/** A form, and another one added to it or subtracted from it. */
export function combinedForms(form: LinearForm, other: LinearForm, sign: 1n | -1n): LinearForm {
  const combined = new Map(form)
  for (const [unknown, coefficient] of other) {
    combined.set(unknown, (combined.get(unknown) ?? 0n) + sign * coefficient)
    if (combined.get(unknown) === 0n) combined.delete(unknown)
  }
  return combined
}

/** The rows that an aggregate selects. */
interface Selection {
  /** The cell of the aggregate that an elementary cell belongs to; `undefined` if its rows are not selected. */
  readonly placeOf: (cell: number) => number | undefined
  /** Which rows of the people in a constant part are kept, as a text; empty if no bound of the question's own applies. */
  readonly boundOf: (constant: number) => string
}

/** True for an aggregate that has no bound of its own on the rows of a person. */
export function isUnbounded({ bounding }: Pick<Aggregate, 'bounding'>, { privacyUnit }: Dataset): boolean {
  return privacyUnit.kind === 'row' || (bounding.kind === 'rows' && bounding.rows >= privacyUnit.maxRows)
}

function selectionOf(
  { where, groupBy, bounding }: Aggregate,
  cells: ElementaryCells,
  dataset: Dataset,
): Selection {
  const isSelected = cells.satisfying(where)
  const place = cells.placed(groupBy)
  const placeOf = (cell: number) => (isSelected(cell) ? place(cell) : undefined)
  const hasNoBound = isUnbounded({ bounding }, dataset)
  const texts = new Map<number, string>()
  return {
    placeOf,
    boundOf(constant) {
      if (hasNoBound) return ''
      const known =
        texts.get(constant) ?? JSON.stringify([bounding, selectedIn(constant, placeOf, cells, bounding)])
      texts.set(constant, known)
      return known
    },
  }
}

/** Which varying parts are selected; where a bound chooses among cells, with a number for each cell. */
function selectedIn(
  constant: number,
  placeOf: Selection['placeOf'],
  { varying }: ElementaryCells,
  { kind }: Aggregate['bounding'],
): string {
  const numbers = new Map<number, number>()
  return Array.from({ length: varying }, (_, part) => {
    const place = placeOf(constant * varying + part)
    if (place === undefined) return '-'
    if (kind !== 'groups') return '+'
    const number = numbers.get(place) ?? numbers.size
    numbers.set(place, number)
    return String(number)
  }).join()
}

function formsOf(
  statistic: Statistic,
  size: number,
  selection: Selection,
  cells: ElementaryCells,
  unknowns: Unknowns,
): readonly LinearForm[] | undefined {
  const forms = Array.from({ length: size }, () => new Map<number, bigint>())
  const add = (place: number, unknown: readonly (string | number)[], coefficient: bigint) => {
    if (coefficient === 0n) return
    const form = must(forms[place], 'a cell')
    const number = unknowns(JSON.stringify(unknown))
    form.set(number, (form.get(number) ?? 0n) + coefficient)
  }
  const terms = termsOf(statistic)
  if (terms === undefined) return undefined
  const { placeOf, boundOf } = selection
  const counts = cells.satisfying(statistic.kind === 'affine-count' ? undefined : predicateOf(statistic))
  const values = columnsOf(statistic).map(cells.withValue)
  const holds = cells.satisfying(predicateOf(statistic))
  const placeIfCounted = (cell: number) =>
    counts(cell) && values.every((test) => test(cell)) ? placeOf(cell) : undefined
  for (let constant = 0; constant < cells.constant; constant += 1) {
    const bound = boundOf(constant)
    const cellsOfPeople = new Map<number, number[]>()
    for (let part = 0; part < cells.varying; part += 1) {
      const cell = constant * cells.varying + part
      const place = placeIfCounted(cell)
      if (place === undefined) continue
      if (terms.of === 'people') cellsOfPeople.set(place, [...(cellsOfPeople.get(place) ?? []), part])
      else
        for (const { quantity, coefficient, where } of terms.each)
          if (where !== true || holds(cell)) add(place, [quantity, bound, cell], coefficient)
    }
    for (const [place, parts] of cellsOfPeople)
      for (const { quantity, coefficient } of terms.each)
        add(place, [quantity, bound, constant, parts.join()], coefficient)
  }
  return forms
}

/** What a row, or a person, adds to a statistic: coefficients of quantities. */
interface Terms {
  readonly of: 'rows' | 'people'
  readonly each: readonly {
    readonly quantity: string
    readonly coefficient: bigint
    /** True if only the rows that satisfy the condition of the statistic add it. */
    readonly where?: true
  }[]
}

/** The number of rows or people. */
const NUMBER = 'number'

/** True for a statistic that adds up people, and not rows. */
export function countsPeople(statistic: Statistic): boolean {
  return termsOf(statistic)?.of === 'people'
}

function termsOf(statistic: Statistic): Terms | undefined {
  switch (statistic.kind) {
    case 'count':
      return { of: 'rows', each: [{ quantity: NUMBER, coefficient: 1n }] }
    case 'count-people':
      return { of: 'people', each: [{ quantity: NUMBER, coefficient: 1n }] }
    case 'affine-count': {
      const { factor, offset } = statistic
      return {
        of: 'rows',
        each: [
          { quantity: NUMBER, coefficient: factor, where: true },
          { quantity: NUMBER, coefficient: offset },
        ],
      }
    }
    case 'affine-sum':
    case 'affine-square-sum': {
      const { factor, offset, perPerson, column, clamp } = statistic
      const value = perPerson === undefined ? sumOf(must(column, 'a column'), clamp) : textOf(perPerson)
      return {
        of: perPerson === undefined ? 'rows' : 'people',
        each:
          statistic.kind === 'affine-sum'
            ? [
                { quantity: value, coefficient: factor },
                { quantity: NUMBER, coefficient: offset },
              ]
            : productTerms([value, factor, offset], [value, factor, offset]),
      }
    }
    case 'affine-product-sum': {
      const [one, other] = statistic.terms
      return {
        of: 'rows',
        each: productTerms(
          [sumOf(one.column, one.clamp), one.factor, one.offset],
          [sumOf(other.column, other.clamp), other.factor, other.offset],
        ),
      }
    }
    case 'count-distinct':
    case 'count-distinct-values':
      return undefined
  }
}

type Affine = readonly [quantity: string, factor: bigint, offset: bigint]

/** (f x + o)(g y + p) = fg xy + fp x + og y + op. */
function productTerms([x, f, o]: Affine, [y, g, p]: Affine): Terms['each'] {
  return [
    { quantity: JSON.stringify([x, y].sort()), coefficient: f * g },
    { quantity: x, coefficient: f * p },
    { quantity: y, coefficient: o * g },
    { quantity: NUMBER, coefficient: o * p },
  ]
}

/** The sum of a column, whose values are clamped to some bounds or to none beyond the declared ones. */
function sumOf(column: string, clamp: Clamp | undefined): string {
  return textOf({ column, ...defined({ clamp }) })
}
