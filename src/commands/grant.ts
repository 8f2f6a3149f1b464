import { printBudget } from './budget.ts'
import { type CommandDefinition, exitingWith, Misuse, SUCCESS } from './command.ts'
import { EXACT_NUMBER_RULE, exactNumber } from './exact-number.ts'
import { printJson } from './printing.ts'
import { addServiceOptions, connect, type ServiceOptions } from './service.ts'

interface GrantOptions extends ServiceOptions {
  readonly epsilon?: string
  readonly delta?: string
  readonly reason: string
}

/** `npx sotto grant` */
export const grant: CommandDefinition = (command) => {
  command
    .description('Raises the cap of a dataset. A grant cannot be taken back.')
    .argument('<dataset>', 'the id of the dataset')
    .option('--epsilon <number>', 'amount to add to the epsilon of the cap')
    .option('--delta <number>', 'amount to add to the delta of the cap')
    .requiredOption('--reason <text>', 'the reason, which the ledger keeps')
  addServiceOptions(command).action(
    exitingWith(async (dataset: string, { epsilon, delta, reason, ...options }: GrantOptions) => {
      const body = {
        ...(epsilon === undefined ? {} : { epsilon: amountFrom('--epsilon', epsilon) }),
        ...(delta === undefined ? {} : { delta: amountFrom('--delta', delta) }),
        reason,
      }
      const path = `/v1/datasets/${encodeURIComponent(dataset)}/grants`
      const report = await connect(options).send('POST', path, body)
      if (options.json) printJson(report)
      else printBudget(dataset, report)
      return SUCCESS
    }),
  )
}

/** @throws Misuse for a text that is not a decimal number that arrives as it was typed. */
function amountFrom(option: string, text: string): number {
  const amount = exactNumber(text)
  if (amount === undefined) throw new Misuse(`${option}: ${EXACT_NUMBER_RULE}`)
  return amount
}
