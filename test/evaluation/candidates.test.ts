import { test } from 'vitest'
import { evaluate } from '../../src/evaluation/evaluation.ts'
import { CANDIDATE_LAWS } from './laws.ts'

test.each(CANDIDATE_LAWS)('$name', ({ check }) => check({ evaluate }))
