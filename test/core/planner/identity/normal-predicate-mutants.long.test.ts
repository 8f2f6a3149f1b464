import { expect, test } from 'vitest'
import { type SourceChange, withChangedSource } from '../../../mutants/changed-source.ts'
import { selectMutants } from '../../../mutants/select-mutants.ts'
import { flawsFound, type Normal } from './normal-versions.ts'

const FILE = 'core/planner/identity/normal-predicate.ts'
const change = (find: string, replace: string): SourceChange => ({ file: FILE, find, replace })

const mistake = (bug: string, flaw: string, change: SourceChange) => ({ bug, flaw, change })

/** Each gives some predicate a wrong normal form. */
const MISTAKES = [
  mistake('the negation of a comparison taken for the opposite comparison, as in SQL', 'other rows', {
    file: 'core/planner/identity/column-values.ts',
    find: 'missing: column.nullable && !missing',
    replace: 'missing: false',
  }),
  mistake(
    'NULL left out of a written set',
    'other rows',
    change(
      'listed, column), ...ranges, ...ofNull]',
      'listed, column), ...ranges, ...(listed.length > 0 ? [] : ofNull)]',
    ),
  ),
  mistake(
    'different from a value, or NULL, taken for different from a value',
    'other rows',
    change('values.missing ? undefined : onlyValue', 'onlyValue'),
  ),
  mistake(
    'De Morgan forgotten',
    'other rows',
    change("(predicate.kind === 'and') === holds ? 'and' : 'or'", 'predicate.kind'),
  ),
  mistake(
    'the conditions of a column united in a conjunction',
    'other rows',
    change("if (kind === 'or')\n", 'if (true)\n'),
  ),
  mistake(
    'a bound beyond the last value of a range',
    'other rows',
    change('valueOfIndex(column, highest)]', 'valueOfIndex(column, highest - 1n)]'),
  ),
  mistake(
    'an open end where the range has one',
    'other rows',
    change('if (lowest === lowerIndex && highest !== upperIndex)', 'if (highest !== upperIndex)'),
  ),
  mistake(
    'a combination absorbed by any other',
    'other rows',
    change(
      'return set !== undefined && isSet(rows) && contains(set, turned(rows))',
      'return set !== undefined',
    ),
  ),
  mistake(
    'absorption by a larger set in a conjunction',
    'other rows',
    change("(kind === 'or' ? values : complement(values, column))", 'values'),
  ),
  mistake(
    'every row and no row exchanged',
    'other rows',
    change("rows.kind === 'every' ? 'or' : 'and'", "rows.kind === 'every' ? 'and' : 'or'"),
  ),
  mistake(
    'operands in the order of the request',
    'another identity',
    change('a.text < b.text ? -1 : a.text > b.text ? 1 : 0', '0'),
  ),
  mistake(
    'nested combinations left as they are',
    'another identity',
    change('part.kind === kind ? part', 'false ? part'),
  ),
  mistake(
    'an equal combination kept twice',
    'another identity',
    change('combinations.set(operand.text, operand)', 'combinations.set(String(combinations.size), operand)'),
  ),
]

test('the normal form as it is has no flaw', async () => {
  await withChangedSource([], {}, async (load) => {
    expect(flawsFound(await load<Normal>(FILE))).toEqual(new Set())
  })
})

test.each(selectMutants(import.meta.dirname, MISTAKES, ({ change }) => [change]))(
  '$bug: is detected',
  async (mutant) => {
    await withChangedSource([mutant.change], {}, async (load) => {
      expect(flawsFound(await load<Normal>(FILE))).toContain(mutant.flaw)
    })
  },
)
