import type { CommandDefinition } from '../command.ts'
import { printJson, printTable, shown } from '../printing.ts'
import { addServiceOptions, connect, type Json, type Schemas, type ServiceOptions } from '../service.ts'

/** `npx sotto budget` */
export const define: CommandDefinition = (command) => {
  command
    .description('Shows what is granted for a dataset, what was spent and what remains.')
    .argument('<dataset>', 'the id of the dataset')
  addServiceOptions(command).action(async (dataset: string, options: ServiceOptions) => {
    const report = await connect(options).budget(dataset)
    if (options.json) printJson(report)
    else printBudget(dataset, report)
  })
}

/** Prints a budget: a line for each amount, a column for each of its units. */
export function printBudget(dataset: string, report: Schemas['BudgetReport']): void {
  const { accounting, granted, cap, spent, remaining, amountsTo } = report
  console.log(`${shown(dataset)}: ${shown(accounting)} accounting\n`)
  const amounts = Object.entries({ granted, cap, spent, remaining, 'spent amounts to': amountsTo }).flatMap(
    ([name, amount]) => {
      const fields: Json | undefined = amount
      return fields === undefined ? [] : [{ name, fields }]
    },
  )
  const units = [...new Set(amounts.flatMap(({ fields }) => Object.keys(fields)))]
  printTable(
    ['', ...units],
    amounts.map(({ name, fields }) => [name, ...units.map((unit) => shown(fields[unit]))]),
  )
}
