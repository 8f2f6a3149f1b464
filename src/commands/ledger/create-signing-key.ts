import { createSigningKey } from '../../ledger/signature.ts'
import { type CommandDefinition, hasCode, Misuse } from '../command.ts'

/** `npx sotto ledger create-signing-key` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Writes a new Ed25519 key to <file>, readable by its owner alone, and the public key to <file>.pub. Prints the public
key. Existing files are not changed.`,
    )
    .argument('<file>', 'the file of the key')
    .action(async (file: string) => {
      try {
        process.stdout.write(await createSigningKey(file))
      } catch (error) {
        if (hasCode(error, 'EEXIST'))
          throw new Misuse(`${file} or ${file}.pub exists already; nothing was written`)
        throw error
      }
    })
}
