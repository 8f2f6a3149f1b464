import { defined } from '../../privacy/defined.ts'
import { type CommandDefinition, Misuse } from '../command.ts'
import { EXACT_NUMBER_RULE, exactNumber } from '../exact-number.ts'
import { printJson } from '../printing.ts'
import { addServiceOptions, connect, type ServiceOptions } from '../service.ts'
import { printBudget } from './budget.ts'

interface GrantOptions extends ServiceOptions {
  readonly epsilon?: number
  readonly delta?: number
  readonly reason: string
}

/** `npx sotto grant` */
export const define: CommandDefinition = (command) => {
  command
    .description('Raises the cap of a dataset. A grant cannot be taken back.')
    .argument('<dataset>', 'the id of the dataset')
    .option('--epsilon <number>', 'amount to add to the epsilon of the cap', amountOf('--epsilon'))
    .option('--delta <number>', 'amount to add to the delta of the cap', amountOf('--delta'))
    .requiredOption('--reason <text>', 'the reason, which the ledger keeps')
  addServiceOptions(command).action(
    async (dataset: string, { epsilon, delta, reason, ...options }: GrantOptions) => {
      const report = await connect(options).grant(dataset, defined({ epsilon, delta, reason }))
      if (options.json) printJson(report)
      else printBudget(dataset, report)
    },
  )
}

/** Reads an amount; throws Misuse for a text that is not a decimal number, or that a JSON number would change. */
function amountOf(option: string): (text: string) => number {
  return (text) => {
    const amount = exactNumber(text)
    if (amount === undefined) throw new Misuse(`${option}: ${EXACT_NUMBER_RULE}`)
    return amount
  }
}
