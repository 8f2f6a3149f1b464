import path from 'node:path'
import { Misuse } from '../command.ts'
import { readText } from './noted-events.ts'

/**
 * Reads the URL of a PostgreSQL database from a file, so that its password is not an argument that other users could see.
 * @throws Misuse for anything else.
 */
export function readDatabaseUrl(file: string): string {
  const url = readText(path.resolve(file)).trim()
  if (!/^postgres(ql)?:\/\//i.test(url) || !URL.canParse(url))
    throw new Misuse(`${file}: must contain a postgres:// URL`)
  return url
}
