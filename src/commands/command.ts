import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { publishFile } from '../platform/files/durable-file.ts'

/** Defines one command: its description, arguments, options and action. Each command's file exports one as `define`. */
export type CommandDefinition = (command: Command) => void

/* Exit codes besides 0. */

/** The service refused the request, or a check failed. */
export const REFUSED = 1
/** The command could not be carried out, usually because its arguments are wrong. */
export const UNUSABLE = 2
/** The service could not be reached. */
export const UNREACHABLE = 3

/** A command that cannot be carried out. The message states the reason. */
export class Misuse extends Error {}

/**
 * Writes texts to a file, which then exists completely or not at all, or to standard output.
 * A reader that closes standard output early, such as `head`, is no error.
 */
export async function writeOutput(
  file: string | undefined,
  texts: AsyncIterable<string> | Iterable<string>,
): Promise<void> {
  const text = Readable.from(texts)
  if (file !== undefined) {
    await pipeline(text, createWriteStream(`${file}.partial`))
    return publishFile(`${file}.partial`, file)
  }
  try {
    await pipeline(text, process.stdout, { end: false })
  } catch (error) {
    if (!hasCode(error, 'EPIPE')) throw error
  }
}

/** True for an error of the operating system with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}
