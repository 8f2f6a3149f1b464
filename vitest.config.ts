import { defineConfig } from 'vitest/config'
import closingLine from './test/closing-line.ts'

const ALL = 'test/**/*.all.test.ts'
const LONG = 'test/**/*.long.test.ts'
const BROWSER = 'test/console/**/*.all.test.ts'
const TRINO = 'test/**/*.trino.test.ts'
const POSTGRES = 'test/postgres-for-run.ts'

/**
 * Fast tests that replace modules. They run isolated; the others share the modules of their process, because loading
 * them anew for each file takes a third of the time.
 */
export const REPLACES_MODULES = [
  'test/e2e/release-time.test.ts',
  'test/engines/duckdb/engine.test.ts',
  'test/engines/duckdb/shared-scans.test.ts',
  'test/engines/duckdb/values.test.ts',
  'test/risk/limits.test.ts',
]

/** Ends a test that hangs; far above what any test takes on a slow machine. */
const timeoutMs = process.env.SOTTO_TEST_ROUNDS === undefined ? 600_000 : 14_400_000

/** The tiers of tests; a file's suffix names its tier. See test/README.md. */
export default defineConfig({
  test: {
    reporters: ['default', closingLine],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    pool: 'forks',
    maxWorkers: 2,
    // Node runs the TypeScript itself, as it does in production.
    experimental: { viteModuleRunner: false },
    // The console imports the TypeScript client, which is not built for the fast tests.
    execArgv: ['--conditions=sotto-source'],
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: [ALL, LONG, TRINO, ...REPLACES_MODULES],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'fast-isolated', include: REPLACES_MODULES } },
      {
        extends: true,
        test: { name: 'all', include: [ALL], exclude: [BROWSER], globalSetup: POSTGRES },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: [BROWSER],
          globalSetup: 'test/console-for-run.ts',
          // Chromium can lose a click on a busy machine. A test that passes at the second attempt is reported as retried.
          retry: 1,
        },
      },
      {
        extends: true,
        test: {
          name: 'trino',
          include: [TRINO],
          globalSetup: 'test/trino-for-run.ts',
          // One file after the other, and after all other tests: the cluster takes both cores and 2 GB.
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      { extends: true, test: { name: 'long', include: [LONG], globalSetup: POSTGRES } },
    ],
  },
})
