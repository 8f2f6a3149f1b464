import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { query } from '../../../../schemas/answers/query.ts'
import type { Column, Dataset } from '../../../../src/core/dataset/dataset.ts'
import { joinTree } from '../../../../src/core/dataset/joins.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { stabilityOf } from '../../../../src/core/planner/price/stability.ts'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { cases } from '../../../cases.ts'
import { LIMITS, planFor } from '../../../core/planner/planned.ts'
import { folderForAll } from '../../../folders.ts'
import { column, datasetOf, storedRows } from '../../fixture.ts'
import { aggregateRows } from '../../reference-engine.ts'

/*
 * Visits and prescriptions of the same people, and a public list of drugs. The reference combines them by the definitions: each
 * side is cut by the digest of its person's rows, and the pairs are ingested as one file.
 */

const folder = folderForAll()
const KEY = '5a'.repeat(32)
const KEPT = { visits: 3, prescriptions: 2 }
const MOST_ROWS = 5

const columns: readonly Column[] = [
  column.identifier('patients.id', 'drop-row'),
  column.integer('visits.cost', 0n, 9n),
  column.integer('prescriptions.dose', 0n, 9n),
  column.string('drugs.name'),
  { ...column.integer('patients.age', 0n, 99n), constantPerPerson: true } as Column,
]
const unit = { kind: 'person', column: 'patients.id', maxRows: MOST_ROWS, key: KEY } as const
const dataset: Dataset = { ...datasetOf(columns), privacyUnit: unit }

interface Clinic {
  readonly visits: readonly { readonly patient: string; readonly cost: string }[]
  readonly prescriptions: readonly {
    readonly patient: string
    readonly dose: string
    readonly drug: string
  }[]
  readonly patients: readonly { readonly id: string; readonly age: string }[]
}

const PEOPLE = ['0', '1', '01', 'ß']
const DRUGS = ['a', 'b']
const person = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...PEOPLE) }, fc.constantFrom('', ' ', '99'))
/** Few values, so that people have the same row several times. */
const number = fc.constantFrom('0', '3', '3', '9', '')
const clinics: fc.Arbitrary<Clinic> = fc.record({
  visits: fc.array(fc.record({ patient: person, cost: number }), { minLength: 6, maxLength: 30 }),
  prescriptions: fc.array(
    fc.record({ patient: person, dose: number, drug: fc.constantFrom(...DRUGS, 'unknown', '') }),
    { minLength: 6, maxLength: 20 },
  ),
  patients: fc
    .subarray([...PEOPLE], { minLength: 1 })
    .map((ids) => ids.map((id, place) => ({ id, age: String(20 + place) }))),
})

/** Adds two people: one with more rows than are kept of either fact, and one with one row of each. */
const withBusyPeople = ({ visits, prescriptions, patients }: Clinic): Clinic => ({
  visits: [
    ...visits,
    ...['busy', 'busy', 'busy', 'busy', 'quiet'].map((patient) => ({ patient, cost: '9' })),
  ],
  prescriptions: [
    ...prescriptions,
    ...['busy', 'busy', 'busy', 'quiet'].map((patient) => ({ patient, dose: '9', drug: 'b' })),
  ],
  patients: [...patients, { id: 'busy', age: '50' }, { id: 'quiet', age: '51' }],
})

const source = (drugs: 'null' | 'drop') => {
  const file = { kind: 'file', path: 'x.csv', format: 'csv' } as const
  return {
    kind: 'joined',
    tables: { drugs: file, patients: file, prescriptions: file, visits: file },
    joins: [
      { from: 'patients.id', to: 'prescriptions.patient', public: false, maxRows: KEPT },
      { from: 'prescriptions.drug', to: 'drugs.code', public: true, dangling: drugs },
      { from: 'visits.patient', to: 'patients.id', public: false },
    ],
  } as const
}

let files = 0
async function csv(header: string, rows: readonly (readonly string[])[]) {
  const sourcePath = join(folder.path, `file${files++}.csv`)
  const quoted = rows.map((row) => row.map((value) => (value === '' ? '' : `"${value}"`)).join(','))
  await writeFile(sourcePath, `${[header, ...quoted].join('\n')}\n`)
  return { sourcePath, format: 'csv' } as const
}

async function ingested(read: Parameters<typeof ingest>[0] extends infer _ ? object : never) {
  const targetPath = join(folder.path, `rows${files++}.duckdb`)
  const terms = { columns, privacyUnit: unit, targetPath, limits: { threads: 1 } }
  const counts = await ingest({ ...terms, ...read } as Parameters<typeof ingest>[0])
  const rows = await storedRows(targetPath, [
    ...columns.slice(1),
    column.integer('sotto_rank', 1n, 9n),
    column.integer('sotto_person', 0n, 99n),
  ])
  return { counts, rows }
}

const textsOf = (rows: readonly object[]) =>
  rows
    .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
    .sort()
const anonymous = (rows: readonly object[]) => textsOf(rows.map((row) => ({ ...row, sotto_person: 0 })))

async function ingestClinic({ visits, prescriptions, patients }: Clinic, drugs: 'null' | 'drop' = 'null') {
  const tree = joinTree({ source: source(drugs), privacyUnit: unit, columns: [] }, (field, rule) =>
    expect.unreachable(`${field}: ${rule}`),
  )
  return ingested({
    joins: tree,
    tables: {
      visits: await csv(
        'cost,patient',
        visits.map(({ cost, patient }) => [cost, patient]),
      ),
      prescriptions: await csv(
        'drug,patient,dose',
        prescriptions.map(({ drug, patient, dose }) => [drug, patient, dose]),
      ),
      patients: await csv(
        'age,id',
        patients.map(({ age, id }) => [age, id]),
      ),
      drugs: await csv(
        'code,name',
        DRUGS.map((code) => [code, `drug ${code}`]),
      ),
    },
  })
}

/** The rows of a person that are kept: those with the lowest digests. */
function kept<Row>(
  rows: readonly Row[],
  id: string,
  most: number,
  valuesOf: (row: Row) => readonly string[],
) {
  const text = (value: string) => (value === '' ? 'n,' : `${value.length}:${value}`)
  const digest = (row: Row) =>
    createHash('md5')
      .update([KEY, 'row', text(id), ...valuesOf(row).map(text)].join(''))
      .digest('hex')
  return rows
    .map((row) => ({ row, digest: digest(row) }))
    .sort((a, b) => (a.digest < b.digest ? -1 : 1))
    .slice(0, most)
    .map(({ row }) => row)
}

/** The combined rows by the definitions. */
function pairs({ visits, prescriptions, patients }: Clinic, drugs: 'null' | 'drop'): readonly string[][] {
  const nameOf = (drug: string) => (DRUGS.includes(drug) ? `drug ${drug}` : '')
  return patients.flatMap(({ id, age }) => {
    const own = visits.filter(({ patient }) => patient === id)
    const others = prescriptions.filter(
      ({ patient, drug }) => patient === id && (drugs === 'null' || DRUGS.includes(drug)),
    )
    // The values in the order of the declared columns.
    const ones = kept(own, id, KEPT.visits, ({ cost }) => [id, cost, age])
    const twos = kept(others, id, KEPT.prescriptions, ({ dose, drug }) => [dose, nameOf(drug)])
    return ones.flatMap(({ cost }) => twos.map(({ dose, drug }) => [id, cost, dose, nameOf(drug), age]))
  })
}

const without = ({ visits, prescriptions, patients }: Clinic, person: string): Clinic => ({
  visits: visits.filter(({ patient }) => patient !== person),
  prescriptions: prescriptions.filter(({ patient }) => patient !== person),
  patients: patients.filter(({ id }) => id !== person),
})

test('two facts have the rows of their pairs in one file, cut by digest on each side', async () => {
  await fc.assert(
    fc.asyncProperty(clinics, fc.constantFrom('null', 'drop'), async (drawn, drugs) => {
      const clinic = withBusyPeople(drawn)
      const combined = pairs(clinic, drugs)
      const flat = await ingested(await csv(columns.map(({ name }) => `"${name}"`).join(','), combined))
      const joined = await ingestClinic(clinic, drugs)
      expect(textsOf(joined.rows)).toEqual(textsOf(flat.rows))
      expect(joined.counts.people).toBe(clinic.patients.length)
      expect(joined.counts.rowsRead).toBe(clinic.visits.length)
      expect(joined.counts.rowsBeyondMaxRows).toBe(flat.counts.rowsBeyondMaxRows)
      // The same rows in another order of the files.
      const { visits, prescriptions, patients } = clinic
      const turned = {
        visits: visits.toReversed(),
        prescriptions: prescriptions.toReversed(),
        patients: patients.toReversed(),
      }
      expect(textsOf((await ingestClinic(turned, drugs)).rows)).toEqual(textsOf(joined.rows))
    }),
    { numRuns: cases(15) },
  )
})

test('removing a person from all tables removes their rows alone, and moves no statistic by more than its stability', async () => {
  const questions = [
    { kind: 'count' },
    { kind: 'sum', column: 'dose' },
    { kind: 'count', of: 'people' },
    { kind: 'sum', column: 'cost', contribution: { rows: 2 } },
  ].map((asked) => {
    const of = { ...dataset, source: source('null') }
    const { aggregate } = planFor('additive', plan(query.parse({ ...asked, epsilon: 1 }), of, LIMITS))
    const [statistic] = aggregate.statistics
    return { aggregate, most: stabilityOf(statistic ?? expect.unreachable(), aggregate, of).l1 }
  })
  const reached = questions.map(() => 0n)
  await fc.assert(
    fc.asyncProperty(clinics, fc.constantFrom(...PEOPLE, 'busy', 'quiet'), async (drawn, id) => {
      const clinic = withBusyPeople(drawn)
      const [all, others] = [await ingestClinic(clinic), await ingestClinic(without(clinic, id))]
      const left = anonymous(all.rows)
      for (const row of anonymous(others.rows)) {
        expect(left).toContain(row)
        left.splice(left.indexOf(row), 1)
      }
      expect(left.length).toBe(
        Math.min(MOST_ROWS, pairs(clinic, 'null').filter(([own]) => own === id).length),
      )
      for (const [place, { aggregate, most }] of questions.entries()) {
        const [[here = 0n] = []] = aggregateRows(aggregate, all.rows)
        const [[there = 0n] = []] = aggregateRows(aggregate, others.rows)
        expect(here - there).toBeGreaterThanOrEqual(0n)
        expect(here - there).toBeLessThanOrEqual(most)
        if (here - there === most) reached[place] = most
      }
    }),
    { numRuns: cases(15), examples: [[{ visits: [], prescriptions: [], patients: [] }, 'busy']] },
  )
  expect(reached).toEqual(questions.map(({ most }) => most))
})
