import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

/** A folder that its creator removes. */
export function makeFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'sotto-test-'))
}

/** A folder that is removed with the test. */
export function temporaryFolder(): string {
  const folder = makeFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The path of a ledger in a separate folder that is removed with the test. */
export function temporaryLedger(): string {
  return path.join(temporaryFolder(), 'ledger.sqlite')
}

/** A folder for all tests of a suite or file, from before the first to after the last. */
export function folderForAll(): { readonly path: string } {
  let folder = ''
  beforeAll(() => {
    folder = makeFolder()
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return {
    get path() {
      return folder
    },
  }
}
