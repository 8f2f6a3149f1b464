import { test } from 'vitest'
import * as verification from '../../src/ledger/verification.ts'
import { VERIFICATION_LAWS } from './tampering.ts'

test.each(VERIFICATION_LAWS)('$name', ({ holds }) => holds(verification))
