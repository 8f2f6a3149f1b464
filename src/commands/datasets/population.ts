import { populationSource } from '../../../schemas/datasets/dataset.ts'
import { populationCsv } from '../../datasets/registration/sources/population.ts'
import { ruleOf } from '../../privacy/rule.ts'
import { type CommandDefinition, Misuse, writeOutput } from '../command.ts'
import { exactNumber } from '../exact-number.ts'

/** `npx sotto population` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Writes made-up people as CSV, with the columns of the demo dataset. A number and a seed always give the same people, and
the same rows as a registration with the source {"kind": "population", "rows": <number>, "seed": <text>}.`,
    )
    .option('--rows <number>', 'the number of people, 1 to 1,000,000')
    .option('--seed <text>', '1 to 100 characters')
    .option('--output <file>', 'write to this file instead of standard output')
    .action(async ({ rows, seed, output }: Partial<Record<'rows' | 'seed' | 'output', string>>) => {
      const parsed = populationSource.safeParse(
        {
          kind: 'population',
          rows: rows === undefined ? undefined : (exactNumber(rows) ?? Number.NaN),
          seed,
        },
        { error: ruleOf },
      )
      if (!parsed.success) {
        const lines = parsed.error.issues.map((issue) => `--${issue.path.join('.')}: ${issue.message}`)
        throw new Misuse(lines.join('\n'))
      }
      await writeOutput(output, populationCsv(parsed.data))
    })
}
