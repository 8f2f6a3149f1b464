import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { publishFile } from '../files/durable-file.ts'

/** One command of the command line. */
export interface Command {
  /** The help text: a usage line, then what the command does and its options. */
  readonly help: string
  /**
   * Runs the command.
   * @param args the arguments after the command's name
   * @returns the exit code.
   * @throws Misuse for arguments that the command cannot use.
   */
  run(args: readonly string[]): Promise<number>
}

/** Exit codes. */
export const SUCCESS = 0
export const UNSOUND = 1
export const UNUSABLE = 2

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
