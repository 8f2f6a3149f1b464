import { defineConfig } from 'vitest/config'
import closingLine from './test/closing-line.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', closingLine],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
  },
})
