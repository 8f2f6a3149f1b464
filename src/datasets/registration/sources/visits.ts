import type { ColumnDeclaration } from '../../../core/dataset/declaration.ts'
import { writeDigested } from '../../../platform/files/durable-file.ts'
import { entry } from '../../../privacy/must.ts'
import {
  choose,
  csvInChunks,
  cumulativeShares,
  placeOf,
  seededUniform,
  standardNormal,
  type Uniform,
  type Weights,
} from '../../sampling.ts'
import type { SourceKind, SourceOfKind } from './source.ts'

/** The numbers of patients and of their visits, and the seed. */
export type Visits = Pick<SourceOfKind<'visits'>, 'people' | 'rows' | 'seed'>

/** One visit of a made-up patient to a clinic: one row. */
export interface Visit extends Patient {
  /** Days since 1 January 2023. */
  readonly day: number
  readonly diagnosis: string
  /** In cents. */
  readonly cost: number
  readonly emergency: boolean
}

/** Facts about a patient, the same in all visits. */
interface Patient {
  readonly patient: string
  readonly region: string
  readonly age: number
}

const REGIONS: Weights = { North: 0.3, South: 0.25, East: 0.2, West: 0.15, Islands: 0.1 }
const DIAGNOSES: Weights = {
  'Common cold': 0.22,
  Hypertension: 0.18,
  'Back pain': 0.15,
  Diabetes: 0.12,
  Asthma: 0.09,
  Migraine: 0.07,
  Fracture: 0.06,
  Allergy: 0.05,
  Pneumonia: 0.03,
  Appendicitis: 0.02,
  'Heart failure': 0.007,
  Malaria: 0.003,
}

/** Visits are from the first day of 2023 to the last of 2024. */
const FIRST_DAY = Date.UTC(2023, 0, 1)
const DAYS = 731
const DAY_MS = 86_400_000

const MOST_CENTS = 100_000

/** The columns of every table of visits. */
export const visitColumns = [
  { name: 'patient_id', type: 'identifier', nullable: false },
  {
    name: 'visited',
    type: 'date',
    lower: '2023-01-01',
    upper: '2024-12-31',
    step: 1,
    dateFormat: 'YYYY-MM-DD',
    nullable: false,
  },
  {
    name: 'region',
    type: 'category',
    categories: Object.keys(REGIONS),
    nullable: false,
    constantPerPerson: true,
  },
  { name: 'age', type: 'integer', lower: 0, upper: 110, step: 1, nullable: false, constantPerPerson: true },
  { name: 'diagnosis', type: 'category', categories: Object.keys(DIAGNOSES), nullable: false },
  { name: 'cost', type: 'number', lower: 0, upper: 1_000, step: 0.01, nullable: false },
  { name: 'emergency', type: 'boolean', nullable: false },
] as const satisfies readonly ColumnDeclaration[]

/** Visits of made-up patients, generated from their numbers and a seed. */
export const visitsSource: SourceKind<'visits'> = {
  fixed: { columns: visitColumns, synthetic: true },
  copy: async (visits, { copy, signal }) => ({
    format: 'csv',
    digest: await writeDigested(visitsCsv(visits), copy, signal),
  }),
}

/** The visits as a CSV file, in chunks, with a header. */
export function visitsCsv(visits: Visits): Generator<string> {
  return csvInChunks(visitColumns, generateVisits(visits), (visit) => [
    visit.patient,
    dateOf(visit),
    visit.region,
    visit.age,
    visit.diagnosis,
    (visit.cost / 100).toFixed(2),
    visit.emergency,
  ])
}

/** Beds of the listed hospitals by their codes, and the share of the visits that each has. */
const HOSPITALS: Readonly<Record<string, { readonly beds: number; readonly share: number }>> = {
  H1: { beds: 620, share: 0.34 },
  H2: { beds: 410, share: 0.26 },
  H3: { beds: 280, share: 0.2 },
  H4: { beds: 90, share: 0.15 },
}
/** A hospital that the list lacks, and a visit at home, which has none. */
const ELSEWHERE: Weights = { H5: 0.02, '': 0.03 }

/** One patient of so many is not in the table of patients. */
const UNLISTED = 50

/** A table of a clinic. */
type ClinicTable = 'visits' | 'patients' | 'hospitals'

/** The visits as three CSV files that belong together, in chunks. Some references lead nowhere. */
export function clinicCsv({ people, rows, seed }: Visits): Readonly<Record<ClinicTable, Iterable<string>>> {
  const uniform = seededUniform(seed)
  const patients = Array.from({ length: people }, (_, place) => patientOf(uniform, place, people))
  const listed = patients.filter((_, place) => place % UNLISTED !== UNLISTED - 1)
  const shares = Object.entries(HOSPITALS).map(([code, { share }]) => [code, share] as const)
  const hospitals = { ...Object.fromEntries(shares), ...ELSEWHERE }
  const hospital = seededUniform(`${seed}, hospitals`)
  return {
    visits: csvInChunks(
      named('patient', 'hospital', 'visited', 'diagnosis', 'cost', 'emergency'),
      generateVisits({ people, rows, seed }),
      (visit) => [
        visit.patient,
        choose(hospital, hospitals),
        dateOf(visit),
        visit.diagnosis,
        (visit.cost / 100).toFixed(2),
        visit.emergency,
      ],
    ),
    patients: csvInChunks(named('id', 'region', 'age'), listed, ({ patient, region, age }) => [
      patient,
      region,
      age,
    ]),
    hospitals: csvInChunks(named('code', 'beds'), Object.entries(HOSPITALS), ([code, { beds }]) => [
      code,
      beds,
    ]),
  }
}

function named(...names: readonly string[]): readonly { readonly name: string }[] {
  return names.map((name) => ({ name }))
}

/** The date of a visit, as ISO 8601 text. */
export function dateOf({ day }: Pick<Visit, 'day'>): string {
  return new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, 10)
}

/**
 * Generates visits; the same numbers and seed always give the same visits. Every patient has one visit at least, and
 * the others follow Zipf's law: the patient in place i has a share of them in proportion to 1 / sqrt(i). Costs grow
 * with age and over time, and visits become more frequent.
 */
export function* generateVisits({ people, rows, seed }: Visits): Generator<Visit> {
  const uniform = seededUniform(seed)
  const patients = Array.from({ length: people }, (_, place) => patientOf(uniform, place, people))
  const shares = cumulativeShares(people, (place) => 1 / Math.sqrt(place))
  for (let row = 0; row < rows; row += 1) {
    yield visitOf(uniform, entry(patients, row < people ? row : placeOf(shares, uniform())))
  }
}

function patientOf(uniform: Uniform, place: number, people: number): Patient {
  // A large odd multiplier scatters the numbers, so that the busiest patients do not come first. It is coprime to 10^9.
  const number = (BigInt(place) * 387_420_489n + BigInt(people)) % 1_000_000_000n
  return {
    patient: `P${String(number).padStart(9, '0')}`,
    region: choose(uniform, REGIONS),
    age: Math.min(110, Math.max(0, Math.round(48 + 22 * standardNormal(uniform)))),
  }
}

function visitOf(uniform: Uniform, patient: Patient): Visit {
  // The square root of a uniform number makes later days more frequent.
  const when = uniform() < 0.5 ? uniform() : Math.sqrt(uniform())
  const day = Math.floor(DAYS * when)
  const diagnosis = choose(uniform, DIAGNOSES)
  const emergency = uniform() < (diagnosis === 'Fracture' || diagnosis === 'Appendicitis' ? 0.7 : 0.08)
  const logarithm =
    1.6 + 0.006 * patient.age + (0.05 * day) / DAYS + (emergency ? 0.5 : 0) + 0.3 * standardNormal(uniform)
  const cost = Math.min(MOST_CENTS, Math.round(100 * 10 ** logarithm))
  return { ...patient, day, diagnosis, cost, emergency }
}
