import { test } from 'vitest'
import { evaluate } from '../../../src/studies/evaluation/evaluation.ts'
import { CANDIDATE_CONTRACT } from './contract/candidates.ts'

test.each(CANDIDATE_CONTRACT)('$name', ({ check }) => check({ evaluate }))
