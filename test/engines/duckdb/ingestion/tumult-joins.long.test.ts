import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinTree } from '../../../../src/core/dataset/joins.ts'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { must } from '../../../../src/privacy/must.ts'
import { folderForAll } from '../../../folders.ts'
import { findPython, installPythonPackage } from '../../../python.ts'
import { column, storedRows } from '../../fixture.ts'

/* Joined files beside Tumult Analytics, which joins private tables of one identifier and a public table. It needs Java 17. */

const folder = folderForAll()
const columns = [
  column.identifier('customers.id'),
  column.integer('customers.age', 0n, 99n),
  { ...column.string('products.name'), nullable: true },
]

const FILE = { kind: 'file', path: 'x.csv', format: 'csv' } as const
const ORACLE = path.resolve(import.meta.dirname, '../../../oracles/tumult_joins.py')

/** What the oracle writes. */
interface Tumult {
  readonly rows: readonly (readonly [age: number, name: string, rows: number])[]
  readonly people: number
}

/** The program of a Python with Tumult Analytics; `undefined` where it or Java cannot be used. */
async function pythonWithTumult(): Promise<string | undefined> {
  const python = findPython()
  if (python === undefined || spawnSync('java', ['-version']).status !== 0) return undefined
  return installPythonPackage(python, 'tmlt.analytics==0.21.0').then(
    (programs) => path.join(programs, 'python'),
    () => undefined,
  )
}

const python = await pythonWithTumult()
const title = `joined rows and people are those of Tumult Analytics${python === undefined ? ' (skipped: it is not installed)' : ''}`

const code = (most: number) => fc.integer({ min: 0, max: most }).map(String)
const shops = fc.record({
  lines: fc.array(fc.tuple(code(12), code(6)), { minLength: 200, maxLength: 300 }),
  customers: fc.uniqueArray(fc.tuple(code(9), fc.integer({ min: 30, max: 33 })), {
    ...{ minLength: 7, maxLength: 9 },
    selector: ([id]) => id,
  }),
})

test.skipIf(python === undefined)(title, async () => {
  for (const shop of fc.sample(shops, { numRuns: 1, seed: 31 })) {
    const products = [0, 1, 2, 3].map((each) => [String(each), `product ${each}`])
    const file = async (name: string, header: string, rows: readonly (readonly unknown[])[]) => {
      const sourcePath = path.join(folder.path, `${name}.csv`)
      await writeFile(sourcePath, [header, ...rows.map((row) => row.join(','))].join('\n'))
      return { sourcePath, format: 'csv' } as const
    }
    const tables = {
      lines: await file('lines', 'customer,product', shop.lines),
      customers: await file('customers', 'id,age', shop.customers),
      products: await file('products', 'code,name', products),
    }
    const unit = { kind: 'person', column: 'customers.id', maxRows: 1_000 } as const
    const source = {
      kind: 'joined',
      tables: { lines: FILE, customers: FILE, products: FILE },
      joins: [
        { from: 'lines.customer', to: 'customers.id', public: false },
        { from: 'lines.product', to: 'products.code', public: true, dangling: 'drop' },
      ],
    } as const
    const joins = must(
      joinTree({ source, privacyUnit: unit, columns: [] }, () => undefined),
      'the joins',
    )
    const targetPath = path.join(folder.path, 'rows.duckdb')
    await ingest({ tables, joins, columns, privacyUnit: { ...unit, key: '5a'.repeat(32) }, targetPath })
    const stored = await storedRows(targetPath, [
      ...columns.slice(1),
      column.integer('sotto_person', 0n, 99n),
    ])
    const given = JSON.stringify({ ...shop, products })
    const { stdout, stderr, status } = spawnSync(must(python, 'Python'), [ORACLE], {
      input: given,
      encoding: 'utf8',
      // Spark writes into the current folder.
      cwd: folder.path,
    })
    expect(status, stderr).toBe(0)
    const theirs: Tumult = JSON.parse(stdout)
    for (const [age, name, rows] of theirs.rows) {
      const ours = stored.filter(
        (row) => row['customers.age'] === BigInt(age) && row['products.name'] === name,
      )
      expect(ours.length, `${age} ${name}`).toBe(rows)
    }
    expect(theirs.rows.reduce((sum, [, , rows]) => sum + rows, 0)).toBe(stored.length)
    expect(new Set(stored.map((row) => row.sotto_person)).size).toBe(theirs.people)
  }
})
