import { test } from 'vitest'
import { evaluate } from '../../src/evaluation/evaluation.ts'
import { NUMBER_LAWS } from './laws.ts'

test.each(NUMBER_LAWS)('$name', ({ check }) => check({ evaluate }))
