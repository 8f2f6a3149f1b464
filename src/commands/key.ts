import { parseArgs } from 'node:util'
import { createKey } from '../access/keys.ts'
import { ROLES, type Role } from '../access/principal.ts'
import { readConfig } from '../config.ts'
import { type Command, Misuse, SUCCESS } from './command.ts'

const HELP = `usage: npx sotto key <${ROLES.join(' | ')}> <name>

Creates an API key for a new principal and prints it. The key is stored nowhere; only its digest is. Restart the service
to accept it.

SOTTO_DATA_DIR names the data folder.
`

/** `npx sotto key` */
export const key: Command = {
  help: HELP,
  run: async (args) => {
    const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true })
    const [role, name, ...rest] = positionals
    if (!isRole(role) || name === undefined || rest.length > 0) throw new Misuse(HELP)
    console.log(await createKey(readConfig(process.env).dataDirectory, { name, role }))
    return SUCCESS
  },
}

function isRole(text: string | undefined): text is Role {
  return ROLES.some((role) => role === text)
}
