import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder that its creator removes. */
export function makeFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'sotto-reliability-'))
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
