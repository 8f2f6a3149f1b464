import { parseArgs } from 'node:util'
import { createSigningKey } from '../ledger/signature.ts'
import { type Command, hasCode, Misuse, SUCCESS } from './command.ts'

const HELP = `usage: npx sotto ledger create-signing-key <file>

Writes a new Ed25519 key to <file>, readable by its owner alone, and the public key to <file>.pub. Prints the public
key. Existing files are not changed.
`

/** `npx sotto ledger create-signing-key` */
export const createSigningKeyPair: Command = {
  help: HELP,
  run: async (args) => {
    const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true })
    const [file, ...more] = positionals
    if (file === undefined || more.length > 0) throw new Misuse(HELP)
    try {
      process.stdout.write(await createSigningKey(file))
    } catch (error) {
      if (hasCode(error, 'EEXIST'))
        throw new Misuse(`${file} or ${file}.pub exists already; nothing was written`)
      throw error
    }
    return SUCCESS
  },
}
