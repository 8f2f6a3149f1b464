import { parseArgs } from 'node:util'
import { COMMAND_LINE, DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS } from '../access/key-changes.ts'
import { type ApiKey, openKeyStore } from '../access/keys.ts'
import { ROLES, type Role } from '../access/principal.ts'
import { readConfig } from '../config.ts'
import { type Command, Misuse, SUCCESS } from './command.ts'

const HELP = `usage: npx sotto key <${ROLES.join(' | ')}> <name> [--datasets <id>,<id>] [--expires-at <time>] [--same-principal]
       npx sotto key list
       npx sotto key rotate <id> [--overlap-seconds <number>]
       npx sotto key delete <id>

Manages API keys, also while the service runs, which applies changes at once. A new or rotated key is printed once. Only
its digest is stored.

  --datasets         limits the key to these datasets
  --expires-at       time from which the key is not valid, in ISO 8601, such as 2030-01-31T12:00:00Z
  --same-principal   adds a key for a principal that has or had one: both have the same releases and allotments
  --overlap-seconds  time for which the previous key stays valid (default: ${DEFAULT_OVERLAP_SECONDS})

SOTTO_DATA_DIR names the data folder.
`

const OPTIONS = {
  datasets: { type: 'string' },
  'expires-at': { type: 'string' },
  'same-principal': { type: 'boolean' },
  'overlap-seconds': { type: 'string' },
} as const

/** `npx sotto key` */
export const key: Command = {
  help: HELP,
  run: async (args) => {
    const { positionals, values } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
    const [action, subject, ...rest] = positionals
    const keys = openKeyStore(readConfig(process.env).dataDirectory)
    const given = Object.keys(values)
    const only = (...allowed: readonly string[]) => given.every((option) => allowed.includes(option))
    if (rest.length > 0) throw new Misuse(HELP)
    if (action === 'list' && subject === undefined && only()) {
      for (const each of keys.list(COMMAND_LINE)) console.log(describe(each))
    } else if (action === 'rotate' && subject !== undefined && only('overlap-seconds')) {
      const seconds = overlapFrom(values['overlap-seconds'])
      console.log((await keys.rotate(subject, seconds, COMMAND_LINE)).text)
    } else if (action === 'delete' && subject !== undefined && only()) {
      await keys.delete(subject, COMMAND_LINE)
    } else if (isRole(action) && subject !== undefined && !given.includes('overlap-seconds')) {
      const expiresAt = timeFrom(values['expires-at'])
      const request = {
        name: subject,
        role: action,
        ...(values.datasets === undefined ? {} : { datasets: datasetsFrom(values.datasets) }),
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...(values['same-principal'] ? { samePrincipal: true } : {}),
      }
      console.log((await keys.create(request, COMMAND_LINE)).text)
    } else throw new Misuse(HELP)
    return SUCCESS
  },
}

function describe({ id, role, datasets, expiresAt }: ApiKey): string {
  const limits = [
    ...(datasets === undefined ? [] : [`datasets ${datasets.join(',')}`]),
    ...(expiresAt === undefined ? [] : [`expires ${expiresAt}`]),
  ]
  return [id, role, ...limits].join('\t')
}

function overlapFrom(text = String(DEFAULT_OVERLAP_SECONDS)): number {
  const seconds = Number(text)
  if (!/^\d+$/.test(text) || seconds > MAX_OVERLAP_SECONDS)
    throw new Misuse(`--overlap-seconds: must be a whole number from 0 to ${MAX_OVERLAP_SECONDS}`)
  return seconds
}

function timeFrom(text: string | undefined): string | undefined {
  if (text !== undefined && !/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text))
    throw new Misuse('--expires-at: must be a time with a zone, such as 2030-01-31T12:00:00Z')
  return text
}

/** @throws Misuse for an id that no dataset can have, which is probably misspelt */
function datasetsFrom(text: string): readonly string[] {
  const datasets = text.split(',')
  if (!datasets.every((dataset) => /^[a-z][a-z0-9-]{0,62}$/.test(dataset)))
    throw new Misuse('--datasets: must be ids of datasets, separated by commas')
  return datasets
}

function isRole(text: string | undefined): text is Role {
  return ROLES.some((role) => role === text)
}
