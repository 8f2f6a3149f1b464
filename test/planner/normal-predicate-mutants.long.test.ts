import { expect, test } from 'vitest'
import { type SourceChange, withChangedSource } from '../changed-source.ts'
import { selectMutants } from '../select-mutants.ts'
import { flawsFound, type Normal } from './normal-versions.ts'

const FILE = 'planner/normal-predicate.ts'
const change = (find: string, replace: string): SourceChange => ({ file: FILE, find, replace })

/** Each gives some predicate a wrong normal form. */
const MISTAKES: readonly {
  readonly mistake: string
  readonly change: SourceChange
  readonly flaw: string
}[] = [
  {
    mistake: 'the negation of a comparison taken for the opposite comparison, as in SQL',
    change: {
      file: 'planner/column-values.ts',
      find: 'missing: column.nullable && !missing',
      replace: 'missing: false',
    },
    flaw: 'other rows',
  },
  {
    mistake: 'NULL left out of a written set',
    change: change(
      'listed, column), ...ranges, ...ofNull]',
      'listed, column), ...ranges, ...(listed.length > 0 ? [] : ofNull)]',
    ),
    flaw: 'other rows',
  },
  {
    mistake: 'different from a value, or NULL, taken for different from a value',
    change: change('values.missing ? undefined : onlyValue', 'onlyValue'),
    flaw: 'other rows',
  },
  {
    mistake: 'De Morgan forgotten',
    change: change("(predicate.kind === 'and') === holds ? 'and' : 'or'", 'predicate.kind'),
    flaw: 'other rows',
  },
  {
    mistake: 'the conditions of a column united in a conjunction',
    change: change("if (kind === 'or')\n", 'if (true)\n'),
    flaw: 'other rows',
  },
  {
    mistake: 'a bound beyond the last value of a range',
    change: change('valueOfIndex(column, highest)]', 'valueOfIndex(column, highest - 1n)]'),
    flaw: 'other rows',
  },
  {
    mistake: 'an open end where the range has one',
    change: change('if (lowest === lowerIndex && highest !== upperIndex)', 'if (highest !== upperIndex)'),
    flaw: 'other rows',
  },
  {
    mistake: 'a combination absorbed by any other',
    change: change(
      'return set !== undefined && isSet(rows) && contains(set, turned(rows))',
      'return set !== undefined',
    ),
    flaw: 'other rows',
  },
  {
    mistake: 'absorption by a larger set in a conjunction',
    change: change("(kind === 'or' ? values : complement(values, column))", 'values'),
    flaw: 'other rows',
  },
  {
    mistake: 'every row and no row exchanged',
    change: change("rows.kind === 'every' ? 'or' : 'and'", "rows.kind === 'every' ? 'and' : 'or'"),
    flaw: 'other rows',
  },
  {
    mistake: 'operands in the order of the request',
    change: change('a.text < b.text ? -1 : a.text > b.text ? 1 : 0', '0'),
    flaw: 'another identity',
  },
  {
    mistake: 'nested combinations left as they are',
    change: change('part.kind === kind ? part', 'false ? part'),
    flaw: 'another identity',
  },
  {
    mistake: 'an equal combination kept twice',
    change: change(
      'combinations.set(operand.text, operand)',
      'combinations.set(String(combinations.size), operand)',
    ),
    flaw: 'another identity',
  },
]

test('the normal form as it is has no flaw', async () => {
  await withChangedSource([], {}, async (load) => {
    expect(flawsFound(await load<Normal>(FILE))).toEqual(new Set())
  })
})

test.each(selectMutants(import.meta.dirname, MISTAKES, ({ change: { file } }) => [file]))(
  '$mistake: is detected',
  async (mutant) => {
    await withChangedSource([mutant.change], {}, async (load) => {
      expect(flawsFound(await load<Normal>(FILE))).toContain(mutant.flaw)
    })
  },
)
