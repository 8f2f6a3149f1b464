// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of source files, not templates.

import { join } from 'node:path'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { execute, readRows } from '../../src/engines/duckdb/connection.ts'
import { duckDbDialect } from '../../src/engines/duckdb/dialect.ts'
import { openLockedInstance } from '../../src/engines/duckdb/instance.ts'
import type { printAggregate } from '../../src/engines/sql-printer.ts'
import { readAggregate } from '../../src/engines/sql-result.ts'
import { folderForAll } from '../folders.ts'
import { type SourceChange, withChangedSource } from '../mutants/changed-source.ts'
import { type Mutant, mutantsIn, selectMutants } from '../mutants/select-mutants.ts'
import { aggregateOfPeople } from './arbitraries.ts'
import { writePeople } from './people-table.ts'
import { aggregateRows } from './reference-engine.ts'

const bounding = mutantsIn('engines/printing/bounding.ts')
const people = mutantsIn('engines/printing/people.ts')

const MUTANTS: readonly Mutant[] = [
  bounding(
    'ranks taken for dense after bins left out rows',
    "    case 'bins':\n      return isConstantColumn(key.column, dataset)",
    "    case 'bins':\n      return true",
  ),
  bounding(
    'ranks taken for dense where a key may be NULL',
    'return columnNamed(dataset, column)?.nullable === false || isConstantColumn(column, dataset)',
    'return true',
  ),
  {
    bug: 'ranks taken for dense after any condition',
    file: 'engines/sql-printer.ts',
    find: 'return where === undefined || isConstantPredicate(where, dataset)',
    replace: 'return true',
  },
  bounding(
    'a conjunction constant if a part is',
    'columnsOf(predicate).every((column)',
    'columnsOf(predicate).some((column)',
  ),
  bounding('all people counted in every cell', '(presenceOnly && cellsPerPerson === 1)', 'presenceOnly'),
  bounding('several rows taken for one', 'limits.rows === 1 ||', 'limits.rows !== undefined ||'),
  bounding(
    'rows beyond the limit by one',
    '{ rows }\n    }\n    case',
    '{ rows: rows + 1 }\n    }\n    case',
  ),
  bounding(
    'a limit on rows in groups without effect',
    'rowsPerGroup < maxRows && !presenceOnly ? rowsPerGroup : undefined',
    'undefined',
  ),
  bounding(
    'groups that are one too few taken for all',
    'groups >= Math.min(cellsPerPerson, maxRows)',
    'groups >= Math.min(cellsPerPerson, maxRows) - 1',
  ),
  bounding(
    'groups chosen by their highest rank',
    '`min(${RANK}) OVER (${inGroup})',
    '`max(${RANK}) OVER (PARTITION BY ${PERSON}, ${CELL})',
  ),
  bounding(
    'groups of all people together',
    'dense_rank() OVER (PARTITION BY ${PERSON} ORDER BY',
    'dense_rank() OVER (ORDER BY',
  ),
  bounding(
    'rows of all people together',
    '`rank() OVER (PARTITION BY ${PERSON} ORDER BY',
    '`rank() OVER (ORDER BY',
  ),
  bounding(
    'rows of a person numbered across groups',
    'const inGroup = `PARTITION BY ${PERSON}, ${CELL} ORDER',
    'const inGroup = `PARTITION BY ${PERSON} ORDER',
  ),
  bounding(
    'rows numbered before the condition',
    '`(SELECT *, ${places} FROM ${from}) AS sotto_rows WHERE ${PLACE} <=',
    "`(SELECT *, ${places} FROM ${from.split(' WHERE ')[0]}) AS sotto_rows WHERE ${from.split(' WHERE ')[1]} AND ${PLACE} <=",
  ),
  people('a mean rounded down', ' + ${count})`,', ')`,'),
  people(
    'a person without a value counted as 0',
    '`nullif(count(${printColumn(printer, value.column, ANY_TYPE)}), 0)`',
    '`count(${printColumn(printer, value.column, ANY_TYPE)})`',
  ),
  people('totals without an upper clamping bound', 'WHEN ${index} > ${most} THEN ${most} ', ''),
  people(
    'totals without a lower clamping bound',
    'CASE WHEN ${index} < ${least} THEN ${least} WHEN',
    'CASE WHEN',
  ),
  {
    bug: 'any number of values of each person',
    file: 'engines/printing/results.ts',
    find: 'if (valuesEach >= Math.min(rowsEach, maxRowsOf(printer.dataset))) return rows',
    replace: 'return rows',
  },
]

const folder = folderForAll()
const open: {
  readonly table: Awaited<ReturnType<typeof writePeople>>
  readonly instance: DuckDBInstance
  readonly connection: DuckDBConnection
}[] = []

beforeAll(async () => {
  for (const table of [
    await writePeople(folder.path, 'skewed', { rows: 300, people: 40 }),
    await writePeople(folder.path, 'constant', { rows: 200, people: 40, constant: true }),
  ]) {
    const instance = await openLockedInstance(join(folder.path, `${table.dataset.id}.duckdb`), 'READ_ONLY', {
      threads: 1,
      memoryLimit: '512MB',
      temporaryDirectory: join(folder.path, `temporary-${table.dataset.id}`),
      maxTemporaryDirectorySize: '1GB',
    })
    open.push({ table, instance, connection: await instance.connect() })
  }
})
afterAll(async () => {
  for (const { instance, connection } of open) {
    connection.disconnectSync()
    instance.closeSync()
  }
})

const AGGREGATES = fc.sample(aggregateOfPeople, { numRuns: 600, seed: 5 })

/**
 * True if every aggregate has the integers of the reference. A statement that cannot be printed or run does not.
 * @throws Error unless the texts to change occur once.
 */
async function agrees(changes: readonly SourceChange[]): Promise<boolean> {
  return withChangedSource(changes, {}, async (load) => {
    const printer = await load<Printer>('engines/sql-printer.ts')
    return agreesWithReference(printer).catch(() => false)
  })
}

interface Printer {
  readonly printAggregate: typeof printAggregate
}

async function agreesWithReference(printer: Printer): Promise<boolean> {
  for (const aggregate of AGGREGATES) {
    for (const { table, connection } of open) {
      const printed = printer.printAggregate(aggregate, table.dataset, duckDbDialect)
      const rows = readRows(await execute(connection, printed))
      const found = readAggregate(aggregate, printed.cells, rows)
      const expected = aggregateRows(aggregate, table.rows)
      if (!found.every((cells, place) => cells.every((value, cell) => value === expected[place]?.[cell])))
        return false
    }
  }
  return true
}

test('the unchanged printer agrees with the reference', async () => {
  expect(await agrees([])).toBe(true)
}, 600_000)

test.each(selectMutants(import.meta.dirname, MUTANTS, (mutant) => [mutant]))(
  'finds the mistake: $bug',
  async ({ file, find, replace }) => {
    expect(await agrees([{ file, find, replace }])).toBe(false)
  },
  600_000,
)
