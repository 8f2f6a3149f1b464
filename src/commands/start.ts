import type { CommandDefinition } from './command.ts'

/** `npx sotto start` */
export const define: CommandDefinition = (command) => {
  command
    .description(
      `Starts the service, and runs until it is asked to stop (Ctrl-C).

Settings are environment variables. SOTTO_PORT is the port, 8080 by default. SOTTO_DATA_DIR is the folder for the ledger,
the datasets and the keys, "data" in the current folder by default. The first start writes an analyst's and a
custodian's key there, and registers a made-up census to try.`,
    )
    .action(async () => (await import('../server.ts')).runService())
}
