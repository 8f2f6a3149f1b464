import { open } from 'node:fs/promises'
import { refuseField } from '../privacy/refusal.ts'
import type { DummyDeclaration, DummySize } from './declaration.ts'
import { type DummyTextFormat, dummyText } from './text.ts'

/** Made-up rows to write, and the file to write them to. It can be sent to a worker thread (structured clone). */
export interface DummyFileInput {
  readonly declaration: DummyDeclaration
  readonly size: DummySize
  readonly format: DummyTextFormat
  /** Absolute path of a file that does not exist. */
  readonly file: string
}

/** Largest size of a file. Long categories and names can make rows large. */
const MOST_BYTES = 256 * 2 ** 20

/**
 * Writes made-up rows to a file, in pieces.
 * @throws Refusal `invalid-request` if the text is too large; part of the file is written then. It depends on the
 * declaration, the number of rows and the seed alone.
 */
export async function writeDummyFile({ declaration, size, format, file }: DummyFileInput): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    let bytes = 0
    for (const piece of dummyText(declaration, size, format)) {
      bytes += Buffer.byteLength(piece)
      if (bytes > MOST_BYTES)
        throw refuseField(
          'invalid-request',
          'rows',
          `must be fewer: their text has more than ${MOST_BYTES} bytes`,
        )
      await handle.writeFile(piece)
    }
  } finally {
    await handle.close()
  }
}
