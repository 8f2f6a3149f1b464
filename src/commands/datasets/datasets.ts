import type { CommandDefinition } from '../command.ts'
import { printJson, printTable, shown } from '../printing.ts'
import {
  addServiceOptions,
  connect,
  type Schemas,
  type ServiceClient,
  type ServiceOptions,
} from '../service.ts'

/** `npx sotto datasets` */
export const define: CommandDefinition = (command) => {
  command.description('Lists the datasets that the key may use.')
  addServiceOptions(command).action(async (options: ServiceOptions) => {
    const client = connect(options)
    const answer = await client.datasets()
    if (options.json) return printJson(answer)
    printTable(
      ['id', 'version', 'state', 'registered', 'privacy unit', 'neighbours', 'columns', 'data', 'title'],
      answer.datasets.map(describe),
    )
    for (const { id, suspended } of answer.datasets) if (suspended !== undefined) await explain(client, id)
  })
}

/** Prints why a dataset is suspended and what its custodian can do. */
async function explain(client: ServiceClient, id: string): Promise<void> {
  const { reason, message } = await client.suspension(id)
  if (reason === undefined) return
  console.log(`\n${shown(id)} is suspended: ${message === undefined ? REPEATED_FAILURES : shown(message)}`)
}

const REPEATED_FAILURES = 'queries have failed as often as failureLimit permits.'

function describe(listed: Schemas['Dataset']): readonly string[] {
  const { id, version, registeredAt, privacyUnit, neighbours, columns, synthetic, title } = listed
  return [
    shown(id),
    shown(version),
    stateOf(listed),
    shown(registeredAt).slice(0, 10),
    privacyUnit.kind === 'person' ? `person (${shown(privacyUnit.column)})` : shown(privacyUnit.kind),
    shown(neighbours),
    String(columns.length),
    synthetic ? 'made up' : 'real',
    shown(title),
  ]
}

function stateOf({ suspended, reachable }: Schemas['Dataset']): string {
  if (suspended !== undefined) return 'suspended'
  return reachable === false ? 'unreachable' : 'open'
}
