import { parseArgs } from 'node:util'
import { populationSource } from '../../schemas/dataset.ts'
import { ruleOf } from '../../schemas/rule.ts'
import { populationCsv } from '../registration/sources/population.ts'
import { type Command, Misuse, SUCCESS, writeOutput } from './command.ts'

/** `npx sotto population` */
export const population: Command = {
  help: `usage: npx sotto population --rows <number> --seed <text> [--output <file>]

Writes made-up people as CSV, with the columns of the demo dataset. A number and a seed always give the same people, and
the same rows as a registration with the source {"kind": "population", "rows": <number>, "seed": <text>}.

  --rows <number>   the number of people, 1 to 1,000,000
  --seed <text>     1 to 100 characters
  --output <file>   write to this file instead of standard output
`,
  run: async (args) => {
    const { values } = parseArgs({
      args: [...args],
      options: { rows: { type: 'string' }, seed: { type: 'string' }, output: { type: 'string' } },
    })
    const { rows, seed, output } = values
    const parsed = populationSource.safeParse(
      { kind: 'population', rows: rows === undefined ? undefined : Number(rows), seed },
      { error: ruleOf },
    )
    if (!parsed.success) {
      const lines = parsed.error.issues.map((issue) => `--${issue.path.join('.')}: ${issue.message}`)
      throw new Misuse(lines.join('\n'))
    }
    await writeOutput(output, populationCsv(parsed.data))
    return SUCCESS
  },
}
