import { test } from 'vitest'
import { createVerifier } from '../../../src/ledger/protocol/verifier/verifier.ts'
import { verifyLedger, verifyTail } from '../../../src/ledger/verification.ts'
import { VERIFICATION_TESTS } from './tampering.ts'

test.each(VERIFICATION_TESTS)('$name', ({ run }) => run({ createVerifier, verifyLedger, verifyTail }))
