import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import seedrandom from 'seedrandom'
import { query as querySchema } from '../../schemas/answers/query.ts'
import { readAggregate } from '../../src/answers/release.ts'
import { declareDataset } from '../../src/core/dataset/declaration.ts'
import { uniformFromWords } from '../../src/core/mechanisms/samplers/uniform-integers.ts'
import { plan } from '../../src/core/planner/plan.ts'
import { censusRegistration } from '../../src/datasets/registration/demo.ts'
import { generatePopulation } from '../../src/datasets/registration/sources/population.ts'
import { deltaFromWire, epsilonFromWire } from '../../src/privacy/loss.ts'
import type { ComparedMechanism, Workload } from '../../src/studies/plots/compare.ts'
import { drawPanels } from '../../src/studies/plots/draw.ts'
import { type Picture, plotsOf } from '../../src/studies/plots/picture.ts'
import { referenceEngine } from '../engines/reference-engine.ts'
import { drawConcepts } from './concept-pictures.ts'

/*
 * Plots in the documentation, drawn by the service's own code: `npm run pictures` writes them, and a test compares.
 * The noisy table uses a fixed tape instead of noise, so that it stays the same.
 */

const FOLDER = path.resolve(import.meta.dirname, '../../docs/pictures')

/** File name and text of each plot. */
export async function drawPictures(): Promise<ReadonlyMap<string, string>> {
  const pictures: Readonly<Record<string, Picture>> = {
    risk: riskOfSchool(),
    'noise-comparison': {
      picture: 'noise-comparison',
      workload: workloadOf(1, 1e-5, 20),
      criterion: 'standardDeviation',
    },
    'laplace-answers': answersOf('laplace', 0),
    'gaussian-answers': answersOf('classic-gaussian', 1e-4),
    'noisy-table': await tableOfCensus(),
  }
  const drawn = Object.entries(pictures).flatMap(([name, picture]) =>
    (['light', 'dark'] as const).map(async (theme) => {
      const random = seedrandom('picture')
      const plots = await plotsOf(picture, uniformFromWords({ next: () => random.int32() >>> 0 }))
      return [`${name}-${theme}.svg`, `${await drawPanels(plots, theme)}\n`] as const
    }),
  )
  return new Map([...(await Promise.all(drawn)), ...drawConcepts()])
}

function riskOfSchool(): Picture {
  const columns = { school_year: [1, 2, 3, 4], absence_days: [1, 2, 3, 10] }
  const question = { columns, released: 3, query: { kind: 'mean' }, risk: 1 / 3 } as const
  return { picture: 'risk', question }
}

function workloadOf(epsilon: number, delta: number, statistics: number): Workload {
  return {
    loss: { epsilonNano: epsilonFromWire(epsilon, 'epsilon'), deltaAtto: deltaFromWire(delta, 'delta') },
    statistics,
    contribution: 1n,
    fractionDigits: 0,
    wholeNumbers: true,
    confidence: 0.95,
  }
}

/** Number of people in the demo who are 65 or older. */
const ELDERLY = 2_538

function answersOf(mechanism: ComparedMechanism, delta: number): Picture {
  return { picture: 'answer-distribution', mechanism, workload: workloadOf(0.1, delta, 1), truth: ELDERLY }
}

async function tableOfCensus(): Promise<Picture> {
  const dataset = declareDataset(censusRegistration, '1')
  const [SEXES, OCCUPATIONS] = ['Sex', 'Occupation'].map((name) => {
    const column = dataset.columns.find((candidate) => candidate.name === name)
    if (column?.type !== 'category') throw new Error(`${name} has categories`)
    return column.categories
  })
  const rows = [...generatePopulation(censusRegistration.source)].map(({ sex, age, occupation }) => ({
    Sex: SEXES?.indexOf(sex) ?? -1,
    Age: BigInt(age),
    Occupation: OCCUPATIONS?.indexOf(occupation) ?? -1,
  }))
  const query = querySchema.parse({
    kind: 'contingency',
    columns: ['Occupation', 'Sex'],
    where: { column: 'Age', op: '>=', value: 65 },
    mechanism: 'laplace',
    epsilon: 0.05,
  })
  const planned = plan(query, dataset, { maxCells: 1_000 })
  const exact = await readAggregate(
    planned,
    referenceEngine(() => rows),
  )
  return { picture: 'noisy-table', trial: { plan: planned, exact, runs: 1, shown: 1 } }
}

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true })
  for (const [file, svg] of await drawPictures()) writeFileSync(path.join(FOLDER, file), svg)
}
