import { expect, test } from 'vitest'
import type { SourceChange } from '../../../mutants/changed-source.ts'
import { selectMutants } from '../../../mutants/select-mutants.ts'
import { calledDisjoint, change, FEW_BOXES, fewSteps } from './disjoint-versions.ts'

const mistake = (bug: string, ...changes: readonly SourceChange[]) => ({ bug, changes })

/** Each calls some predicates disjoint that are not. */
const MISTAKES = [
  mistake(
    'a negated conjunction stays one',
    change("(predicate.kind === 'and') === holds", "predicate.kind === 'and'"),
  ),
  mistake('a negation that changes nothing', change('!holds, search', 'holds, search')),
  mistake(
    'a negated comparison taken without its negation',
    change('holds ? values : complement(values, column)', 'values'),
  ),
  mistake(
    'the negation of a comparison leaves out NULL, as in SQL',
    change('missing: column.nullable && !missing', 'missing: false'),
  ),
  mistake(
    'NULL left out of a domain',
    change('return { missing: column.nullable, present: column', 'return { missing: false, present: column'),
  ),
  mistake('NULL alone taken for nothing', change('if (missing) return false', '')),
  mistake(
    'NULL lost where there is a value too',
    change('const missing = sets.some(', 'const missing = sets.every('),
  ),
  mistake('one point taken for nothing', change('if (start <= end) shared', 'if (start < end) shared')),
  mistake(
    'the wrong interval passed over',
    change('if (one[1] < other[1]) here', 'if (one[1] > other[1]) here'),
  ),
  mistake(
    'intervals in one another joined to the end of the last',
    change('else if (end > last[1]) apart', 'else apart'),
  ),
  mistake('an interval that overlaps lost', change('else if (end > last[1]) apart', 'else if (false) apart')),
  mistake('a gap that begins too late', change('next = end + 1n', 'next = end + 2n')),
  mistake('no last gap of one point', change('if (next <= highest) gaps', 'if (next < highest) gaps')),
  mistake('a gap cut short', change('gaps.push([next, start - 1n])', 'gaps.push([next, start - 2n])')),
  mistake(
    'a domain without its last category',
    change('BigInt(column.categories.length) - 1n', 'BigInt(column.categories.length) - 2n'),
  ),
  mistake(
    'bounds taken for strict',
    change(
      'return [column.lowerIndex, column.upperIndex]',
      'return [column.lowerIndex + 1n, column.upperIndex]',
    ),
  ),
  mistake('all texts taken for none', change(': !present.allBut && present.listed', ': present.listed')),
  mistake(
    'texts of the wrong list left over',
    change('b.listed.difference(a.listed)', 'a.listed.difference(b.listed)'),
  ),
  mistake(
    'all texts but both taken for all but either',
    change('common.intersection(next)', 'common.union(next)'),
  ),
  mistake(
    'one text of each list only',
    change('(set.allBut ? [] : [...set.listed])', '(set.allBut ? [] : [...set.listed].slice(0, 1))'),
  ),
  mistake(
    'texts distinguished that an engine cannot distinguish',
    change('if (!comparison.values.every((text) => text.isWellFormed())) return undefined', ''),
  ),
  mistake(
    'the last alternative of a column for all',
    change('known === undefined ? values : either(known, values, search)', 'values'),
  ),
  mistake(
    'alternatives of several columns forgotten',
    change('if (others.length > 0) boxes.push(box)', 'if (others.length > 0) continue'),
  ),
  mistake(
    'one pair of boxes for all',
    change(
      '|| commonBox(box, other, search) !== undefined) return false',
      ') return false\n      return commonBox(box, other, search) === undefined',
    ),
  ),
  mistake(
    'boxes that are too many dropped from a product',
    FEW_BOXES,
    change('? product(region, [hull(next, search)], search) : boxes', '? boxes.slice(0, 2) : boxes'),
  ),
  mistake(
    'boxes that are too many dropped from a union',
    FEW_BOXES,
    change('[hull(all, search)] : all', 'all.slice(0, 2) : all'),
  ),
  mistake(
    'a hull as narrow as its first box',
    FEW_BOXES,
    change('else around.set(column, either(values, more, search))', ''),
  ),
  mistake(
    'a hull that keeps what some boxes leave open',
    FEW_BOXES,
    change(
      'more === undefined || search.stepsLeft <= 0) around.delete(column)',
      'more === undefined || search.stepsLeft <= 0) continue',
    ),
  ),
  mistake(
    'a product cut off where the search ends',
    fewSteps(30),
    change('if (search.stepsLeft <= 0) return region', 'if (search.stepsLeft <= 0) return boxes'),
  ),
  mistake(
    'a union cut off where the search ends',
    fewSteps(30),
    change('if (search.stepsLeft <= 0) return EVERYWHERE', 'if (search.stepsLeft <= 0) return boxes'),
  ),
  mistake(
    'disjoint because the search ended',
    fewSteps(30),
    change('if (search.stepsLeft <= 0 || commonBox', 'if (search.stepsLeft > 0 && commonBox'),
  ),
]

test.each(selectMutants(import.meta.dirname, MISTAKES, ({ changes }) => changes))(
  '$bug: is detected',
  async ({ changes }) => {
    expect((await calledDisjoint(changes)).wrong).not.toEqual([])
  },
)
