import { COMMAND_LINE, type NewKey } from '../src/http/access/keys/key-changes.ts'
import { openKeyStore } from '../src/http/access/keys/keys.ts'

/** Creates an API key in a data folder, as `npx sotto key` does, and returns its text. */
export async function createKey(dataDirectory: string, request: NewKey): Promise<string> {
  return (await openKeyStore(dataDirectory).create(request, COMMAND_LINE)).text
}
