import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Column, Dataset } from '../../src/core/dataset/dataset.ts'
import { ingest } from '../../src/engines/duckdb/ingestion/ingest.ts'
import { CONSTANT_COLUMNS, columns, randomRows } from './arbitraries.ts'
import { column, datasetOf, storedRows, withDuckDb } from './fixture.ts'
import type { StoredRow } from './reference-engine.ts'
import { PERSON, RANK } from './reference-people.ts'

/** Rows of made-up people. */
export interface PeopleShape {
  readonly rows: number
  readonly people: number
  /** True if some columns have the same value in all rows of a person. */
  readonly constant?: boolean
  /** True if these columns have no NULL. */
  readonly present?: boolean
}

/**
 * Writes a table of people as ingestion stores it: rows with random values, persons with skewed numbers of rows, and
 * ranks in random order. It does not depend on the ingestion of people.
 */
export async function writePeople(
  folder: string,
  id: string,
  { rows, people, constant = false, present = false }: PeopleShape,
): Promise<{ readonly dataset: Dataset; readonly rows: readonly StoredRow[] }> {
  const [sourcePath, targetPath] = [join(folder, `${id}.csv`), join(folder, `${id}.duckdb`)]
  await writeFile(sourcePath, randomRows(rows, rows + people))
  await ingest({ sourcePath, format: 'csv', columns, privacyUnit: { kind: 'row' }, targetPath })
  const shaped = columns.map((each) => {
    const name = `"${each.name}"`
    if (!CONSTANT_COLUMNS.some((shapedName) => shapedName === each.name)) return name
    const value = constant ? `first_value(${name}) OVER own` : name
    return present
      ? `coalesce(${value}, ${each.type === 'boolean' ? 'true' : 1}) AS ${name}`
      : `${value} AS ${name}`
  })
  await withDuckDb(
    targetPath,
    `CREATE TABLE drawn AS SELECT *, hash(rowid) AS place,
      CAST(floor(${people} * pow(hash(rowid + 7) / 18446744073709551616.0, 3)) AS INTEGER) AS person FROM rows`,
    `CREATE OR REPLACE TABLE rows AS SELECT ${shaped.join(', ')}, person AS ${PERSON},
      CAST(row_number() OVER own AS INTEGER) AS ${RANK}
      FROM drawn WINDOW own AS (PARTITION BY person ORDER BY place) ORDER BY hash(place)`,
    'DROP TABLE drawn',
    'CREATE TABLE rows_beyond AS SELECT * FROM rows LIMIT 0',
  )
  const stored = await storedRows(targetPath, [
    ...columns,
    column.integer(PERSON, 0n, 1n),
    column.integer(RANK, 1n, 1n),
  ])
  const declared = columns.map((each): Column => {
    if (each.type === 'identifier' || !CONSTANT_COLUMNS.some((name) => name === each.name)) return each
    return {
      ...each,
      ...(constant ? { constantPerPerson: true } : {}),
      ...(present ? { nullable: false } : {}),
    }
  })
  const maxRows = Math.max(1, ...stored.map((row) => Number(row[RANK])))
  return { dataset: peopleDataset(declared, id, maxRows), rows: stored }
}

/** A dataset whose privacy units are people. */
export function peopleDataset(columns: readonly Column[], id: string, maxRows: number): Dataset {
  return { ...datasetOf(columns, id), privacyUnit: { kind: 'person', column: 'id', maxRows } }
}

/** Writes a table with some of the people of another one, with the same values and ranks. */
export async function writeSomePeople(
  folder: string,
  { id }: Dataset,
  copyId: string,
  condition: string,
): Promise<void> {
  const copy = join(folder, `${copyId}.duckdb`)
  await withDuckDb(
    copy,
    `ATTACH '${join(folder, `${id}.duckdb`)}' AS original (READ_ONLY)`,
    `CREATE TABLE rows AS SELECT * FROM original.rows WHERE ${condition}`,
    'DETACH original',
  )
}

/** Writes the people of another table as ingestion stores them with another `maxRows`: the rows beyond it apart. */
export async function writeSplitPeople(
  folder: string,
  { id }: Dataset,
  copyId: string,
  { maxRows, most }: { readonly maxRows: number; readonly most: number },
): Promise<void> {
  await withDuckDb(
    join(folder, `${copyId}.duckdb`),
    `ATTACH '${join(folder, `${id}.duckdb`)}' AS original (READ_ONLY)`,
    `CREATE TABLE rows AS SELECT * FROM original.rows WHERE ${RANK} <= ${maxRows}`,
    `CREATE TABLE rows_beyond AS SELECT * FROM original.rows WHERE ${RANK} > ${maxRows} AND ${RANK} <= ${most}`,
    'DETACH original',
  )
}
