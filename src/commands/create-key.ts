/** `npm run key -- <role> <name>`: makes a key for a new principal and prints it, once. The service is restarted then. */
import { createKey } from '../access/keys.ts'
import { ROLES, type Role } from '../access/principal.ts'
import { readConfig } from '../config.ts'

const [role, name, ...rest] = process.argv.slice(2)
const isRole = (text: string | undefined): text is Role => ROLES.some((known) => known === text)
if (!isRole(role) || name === undefined || rest.length > 0) {
  console.error(`usage: npm run key -- <${ROLES.join(' | ')}> <name>`)
  process.exitCode = 2
} else {
  try {
    console.log(await createKey(readConfig(process.env).dataDirectory, { name, role }))
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}
