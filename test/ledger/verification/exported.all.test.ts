import { expect, test } from 'vitest'
import { sha256 } from '../../../src/ledger/canonical.ts'
import { exportLine } from '../../../src/ledger/exported.ts'
import { followExport, isSound } from '../../../src/ledger/protocol/verifier/export.ts'
import { chain, sampleHistory } from './sample-history.ts'

async function* inOnePiece(lines: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield Buffer.concat(lines)
}

// One bit leaves the class of a letter or digit, the other its case.
test.each([
  ['basic', 0x01],
  ['zcdp', 0x20],
] as const)('%s: a bit turned in any byte of any line is found', async (accounting, bit) => {
  const events = chain('census', sampleHistory(accounting))
  const lines = events.map((event) => Buffer.from(exportLine(event)))
  const head = { dataset: 'census', sequence: events.length, hash: events.at(-1)?.hash ?? '' }
  let turned = 0
  for (const place of events.keys()) {
    for (const [position, byte] of (lines[place] ?? Buffer.of()).entries()) {
      const line = Buffer.from(lines[place] ?? '')
      line[position] = byte ^ bit
      const findings = await followExport(inOnePiece(lines.with(place, line)), { sha256, noted: [head] })
      expect(isSound(findings), `byte ${position} of event ${place + 1}`).toBe(false)
      const census = findings.datasets[0]?.verification
      const differences = [
        census?.kind === 'broken' ? census.sequence : Infinity,
        findings.badLine?.line ?? Infinity,
        // If the last event names another dataset, it is missing from its own.
        findings.noted[0]?.reason?.endsWith('missing') ? events.length : Infinity,
      ]
      expect(Math.min(...differences)).toBe(place + 1)
      turned += 1
    }
  }
  expect(turned).toBeGreaterThan(5_000)
})
