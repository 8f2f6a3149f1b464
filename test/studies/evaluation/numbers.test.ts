import { test } from 'vitest'
import { evaluate } from '../../../src/studies/evaluation/evaluation.ts'
import { NUMBER_CONTRACT } from './contract/numbers.ts'

test.each(NUMBER_CONTRACT)('$name', ({ check }) => check({ evaluate }))
