import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { populationSource, visitsSource } from '../../../schemas/datasets/dataset.ts'
import { populationCsv } from '../../datasets/registration/sources/population.ts'
import { clinicCsv } from '../../datasets/registration/sources/visits.ts'
import { checked, numberOf } from '../checked-options.ts'
import { type CommandDefinition, Misuse, writeOutput } from '../command.ts'

type PopulationOptions = Partial<Record<'rows' | 'visits' | 'seed' | 'output', string>>

/** `npx sotto population` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Writes made-up people as CSV, with the columns of the demo dataset. A number and a seed always give the same people, and
the same rows as a registration with the source {"kind": "population", "rows": <number>, "seed": <text>}. With --visits, writes
the patients of a clinic, their visits and its hospitals as three files, to be joined.`,
    )
    .option('--rows <number>', 'the number of people, 1 to 1,000,000')
    .option(
      '--visits <number>',
      'the number of their visits, to write the files of a clinic to the folder --output',
    )
    .option('--seed <text>', '1 to 100 characters')
    .option('--output <file>', 'write to this file instead of standard output')
    .action(({ rows, visits, seed, output }: PopulationOptions) =>
      visits === undefined
        ? writeOutput(
            output,
            populationCsv(checked(populationSource, { kind: 'population', rows: numberOf(rows), seed })),
          )
        : writeClinic({ people: numberOf(rows), rows: numberOf(visits), seed }, output),
    )
}

async function writeClinic(visits: object, folder: string | undefined): Promise<void> {
  const source = checked(visitsSource, { kind: 'visits', ...visits }, { people: '--rows', rows: '--visits' })
  if (folder === undefined) throw new Misuse('--output: must be a folder for the files of --visits')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(clinicCsv(source)))
    await writeOutput(path.join(folder, `${name}.csv`), text)
}
