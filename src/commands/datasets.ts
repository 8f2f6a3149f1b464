import { type CommandDefinition, exitingWith, SUCCESS } from './command.ts'
import { fieldsOf } from './declaration-file.ts'
import { printJson, printTable, shown } from './printing.ts'
import { addServiceOptions, connect, type Json, type ServiceClient, type ServiceOptions } from './service.ts'

/** `npx sotto datasets` */
export const datasets: CommandDefinition = (command) => {
  command.description('Lists the datasets that the key may use.')
  addServiceOptions(command).action(
    exitingWith(async (options: ServiceOptions) => {
      const client = connect(options)
      const answer = await client.send('GET', '/v1/datasets')
      if (options.json) {
        printJson(answer)
        return SUCCESS
      }
      const listed: readonly Json[] = Array.isArray(answer.datasets) ? answer.datasets : []
      printTable(
        ['id', 'version', 'state', 'registered', 'privacy unit', 'neighbours', 'columns', 'data', 'title'],
        listed.map(describe),
      )
      for (const { id, suspended } of listed) if (suspended !== undefined) await explain(client, shown(id))
      return SUCCESS
    }),
  )
}

/** Prints why a dataset is suspended and what its custodian can do. */
async function explain(client: ServiceClient, id: string): Promise<void> {
  const { reason, message } = await client.send('GET', `/v1/datasets/${id}/suspension`)
  if (reason === undefined) return
  console.log(`\n${id} is suspended: ${message === undefined ? REPEATED_FAILURES : shown(message)}`)
}

const REPEATED_FAILURES = 'queries have failed as often as failureLimit permits.'

function describe(listed: Json) {
  const { id, version, registeredAt, privacyUnit, neighbours, columns, synthetic, title } = listed
  const unit = fieldsOf(privacyUnit) ?? {}
  return [
    shown(id),
    shown(version),
    stateOf(listed),
    shown(registeredAt).slice(0, 10),
    unit.kind === 'person' ? `person (${shown(unit.column)})` : shown(unit.kind),
    shown(neighbours),
    String(Array.isArray(columns) ? columns.length : ''),
    synthetic ? 'made up' : 'real',
    shown(title),
  ]
}

function stateOf({ suspended, reachable }: Json): string {
  if (suspended !== undefined) return 'suspended'
  return reachable === false ? 'unreachable' : 'open'
}
