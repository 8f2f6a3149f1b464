import { expect, test } from 'vitest'
import type { SourceChange } from '../changed-source.ts'
import { selectMutants } from '../select-mutants.ts'
import { calledDisjoint, change, FEW_BOXES, fewSteps } from './disjoint-versions.ts'

/** Each calls some predicates disjoint that are not. */
const MISTAKES: readonly { readonly mistake: string; readonly changes: readonly SourceChange[] }[] = [
  {
    mistake: 'a negated conjunction stays one',
    changes: [change("(predicate.kind === 'and') === holds", "predicate.kind === 'and'")],
  },
  { mistake: 'a negation that changes nothing', changes: [change('!holds, search', 'holds, search')] },
  {
    mistake: 'a negated comparison taken without its negation',
    changes: [change('holds ? values : complement(values, column)', 'values')],
  },
  {
    mistake: 'the negation of a comparison leaves out NULL, as in SQL',
    changes: [change('missing: column.nullable && !missing', 'missing: false')],
  },
  {
    mistake: 'NULL left out of a domain',
    changes: [
      change(
        'return { missing: column.nullable, present: column',
        'return { missing: false, present: column',
      ),
    ],
  },
  { mistake: 'NULL alone taken for nothing', changes: [change('if (missing) return false', '')] },
  {
    mistake: 'NULL lost where there is a value too',
    changes: [change('missing: a.missing || b.missing', 'missing: a.missing && b.missing')],
  },
  {
    mistake: 'one point taken for nothing',
    changes: [change('if (start <= end) shared', 'if (start < end) shared')],
  },
  {
    mistake: 'the wrong interval passed over',
    changes: [change('if (one[1] < other[1]) here', 'if (one[1] > other[1]) here')],
  },
  {
    mistake: 'intervals in one another joined to the end of the last',
    changes: [change('else if (end > last[1]) apart', 'else apart')],
  },
  {
    mistake: 'an interval that overlaps lost',
    changes: [change('else if (end > last[1]) apart', 'else if (false) apart')],
  },
  { mistake: 'a gap that begins too late', changes: [change('next = end + 1n', 'next = end + 2n')] },
  {
    mistake: 'no last gap of one point',
    changes: [change('if (next <= highest) gaps', 'if (next < highest) gaps')],
  },
  {
    mistake: 'a gap cut short',
    changes: [change('gaps.push([next, start - 1n])', 'gaps.push([next, start - 2n])')],
  },
  {
    mistake: 'a domain without its last category',
    changes: [change('BigInt(column.categories.length) - 1n', 'BigInt(column.categories.length) - 2n')],
  },
  {
    mistake: 'bounds taken for strict',
    changes: [
      change(
        'return [column.lowerIndex, column.upperIndex]',
        'return [column.lowerIndex + 1n, column.upperIndex]',
      ),
    ],
  },
  {
    mistake: 'all texts taken for none',
    changes: [change(': !present.allBut && present.listed', ': present.listed')],
  },
  {
    mistake: 'texts of the wrong list left over',
    changes: [change('b.listed.difference(a.listed)', 'a.listed.difference(b.listed)')],
  },
  {
    mistake: 'all texts but either taken for all but both',
    changes: [change('a.listed.union(b.listed)', 'a.listed.intersection(b.listed)')],
  },
  {
    mistake: 'texts of both lists only',
    changes: [
      change(
        'const neither = presentInBoth({ ...a, allBut: !a.allBut }, { ...b, allBut: !b.allBut })',
        'const neither = presentInBoth(a, b)',
      ),
    ],
  },
  {
    mistake: 'texts distinguished that an engine cannot distinguish',
    changes: [change('if (!comparison.values.every((text) => text.isWellFormed())) return undefined', '')],
  },
  {
    mistake: 'the last alternative of a column for all',
    changes: [change('known === undefined ? values : either(known, values, search)', 'values')],
  },
  {
    mistake: 'alternatives of several columns forgotten',
    changes: [change('if (others.length > 0) boxes.push(box)', 'if (others.length > 0) continue')],
  },
  {
    mistake: 'one pair of boxes for all',
    changes: [
      change(
        '|| commonBox(box, other, search) !== undefined) return false',
        ') return false\n      return commonBox(box, other, search) === undefined',
      ),
    ],
  },
  {
    mistake: 'boxes that are too many dropped from a product',
    changes: [
      FEW_BOXES,
      change('? product(region, [hull(next, search)], search) : boxes', '? boxes.slice(0, 2) : boxes'),
    ],
  },
  {
    mistake: 'boxes that are too many dropped from a union',
    changes: [FEW_BOXES, change('[hull(all, search)] : all', 'all.slice(0, 2) : all')],
  },
  {
    mistake: 'a hull as narrow as its first box',
    changes: [FEW_BOXES, change('else around.set(column, either(values, more, search))', '')],
  },
  {
    mistake: 'a hull that keeps what some boxes leave open',
    changes: [
      FEW_BOXES,
      change(
        'more === undefined || search.stepsLeft <= 0) around.delete(column)',
        'more === undefined || search.stepsLeft <= 0) continue',
      ),
    ],
  },
  {
    mistake: 'a product cut off where the search ends',
    changes: [
      fewSteps(30),
      change('if (search.stepsLeft <= 0) return region', 'if (search.stepsLeft <= 0) return boxes'),
    ],
  },
  {
    mistake: 'a union cut off where the search ends',
    changes: [
      fewSteps(30),
      change('if (search.stepsLeft <= 0) return EVERYWHERE', 'if (search.stepsLeft <= 0) return boxes'),
    ],
  },
  {
    mistake: 'disjoint because the search ended',
    changes: [
      fewSteps(30),
      change('if (search.stepsLeft <= 0 || commonBox', 'if (search.stepsLeft > 0 && commonBox'),
    ],
  },
]

test.each(selectMutants(import.meta.dirname, MISTAKES, ({ changes }) => changes.map(({ file }) => file)))(
  '$mistake: is detected',
  async ({ changes }) => {
    expect((await calledDisjoint(changes)).wrong).not.toEqual([])
  },
)
