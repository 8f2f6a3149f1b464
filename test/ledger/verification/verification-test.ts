import type { createVerifier } from '../../../src/ledger/protocol/verifier/verifier.ts'
import type { verifyLedger, verifyTail } from '../../../src/ledger/verification.ts'

/** The code under test, which mutants replace. */
export interface VerificationSource {
  readonly createVerifier: typeof createVerifier
  readonly verifyLedger: typeof verifyLedger
  readonly verifyTail: typeof verifyTail
}

/** A requirement on verification. `run` rejects if it is not met. */
export interface VerificationTest {
  readonly name: string
  run(source: VerificationSource): Promise<void>
}

export const verificationTest = (name: string, run: VerificationTest['run']): VerificationTest => ({
  name,
  run,
})
