import { type CommandDefinition, exitingWith, SUCCESS } from './command.ts'
import { fieldsOf } from './declaration-file.ts'
import { printJson, printTable, shown } from './printing.ts'
import { addServiceOptions, connect, type Json, type ServiceOptions } from './service.ts'

/** `npx sotto datasets` */
export const datasets: CommandDefinition = (command) => {
  command.description('Lists the datasets that the key may use.')
  addServiceOptions(command).action(
    exitingWith(async (options: ServiceOptions) => {
      const answer = await connect(options).send('GET', '/v1/datasets')
      if (options.json) printJson(answer)
      else
        printTable(
          ['id', 'version', 'registered', 'privacy unit', 'neighbours', 'columns', 'data', 'title'],
          (Array.isArray(answer.datasets) ? answer.datasets : []).map(describe),
        )
      return SUCCESS
    }),
  )
}

function describe({ id, version, registeredAt, privacyUnit, neighbours, columns, synthetic, title }: Json) {
  const unit = fieldsOf(privacyUnit) ?? {}
  return [
    shown(id),
    shown(version),
    shown(registeredAt).slice(0, 10),
    unit.kind === 'person' ? `person (${shown(unit.column)})` : shown(unit.kind),
    shown(neighbours),
    String(Array.isArray(columns) ? columns.length : ''),
    synthetic ? 'made up' : 'real',
    shown(title),
  ]
}
