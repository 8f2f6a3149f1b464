import { grantRequest } from '../../../schemas/budgets/budget.ts'
import { defined } from '../../privacy/defined.ts'
import { checked, numberOf } from '../checked-options.ts'
import type { CommandDefinition } from '../command.ts'
import { printJson } from '../printing.ts'
import { addServiceOptions, connect, type ServiceOptions } from '../service.ts'
import { printBudget } from './budget.ts'

interface GrantOptions extends ServiceOptions {
  readonly epsilon?: string
  readonly delta?: string
  readonly reason: string
}

/** `npx sotto grant` */
export const define: CommandDefinition = (command) => {
  command
    .description('Raises the cap of a dataset. A grant cannot be taken back.')
    .argument('<dataset>', 'the id of the dataset')
    .option('--epsilon <number>', 'amount to add to the epsilon of the cap')
    .option('--delta <number>', 'amount to add to the delta of the cap')
    .requiredOption('--reason <text>', 'the reason, which the ledger keeps')
  addServiceOptions(command).action(
    async (dataset: string, { epsilon, delta, reason, ...options }: GrantOptions) => {
      const amount = defined({ epsilon: numberOf(epsilon), delta: numberOf(delta) })
      const report = await connect(options).grant(dataset, checked(grantRequest, { ...amount, reason }))
      if (options.json) printJson(report)
      else printBudget(dataset, report)
    },
  )
}
