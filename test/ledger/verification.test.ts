import { test } from 'vitest'
import * as verification from '../../src/ledger/verification.ts'
import { VERIFICATION_TESTS } from './tampering.ts'

test.each(VERIFICATION_TESTS)('$name', ({ run }) => run(verification))
