import path from 'node:path'
import { defineConfig } from 'vitest/config'
import closingLine from './test/closing-line.ts'
import LongestFirst from './test/sequencer.ts'
import { folderInMemory } from './test/servers/memory.ts'

const ALL = 'test/**/*.all.test.ts'
/** These are also fast tests, which run a part of their cases. See test/cases.ts. */
const CASES = 'test/**/*.cases.test.ts'
const LONG = 'test/**/*.long.test.ts'
const BROWSER = 'test/console/**/*.all.test.ts'
const POSTGRES = 'test/servers/postgres-for-run.ts'

/**
 * Fast tests that replace modules. They run isolated; the others share the modules of their process, because loading
 * them anew for each file takes a third of the time.
 */
export const REPLACES_MODULES = [
  'test/e2e/answers/release-time.test.ts',
  'test/engines/duckdb/engine.cases.test.ts',
  'test/engines/duckdb/shared-scans.cases.test.ts',
  'test/engines/duckdb/queries.test.ts',
]

// Each ledger and each process of a test loads its modules anew. Node keeps what it compiled, types removed.
process.env.NODE_COMPILE_CACHE ??= path.resolve(import.meta.dirname, 'node_modules/.cache/compiled')

const memory = folderInMemory(2 ** 31)
/**
 * Environment of the fast tests and of all cases: their files are in memory. Ledgers and databases wait for a disk
 * otherwise. What a disk does is tested in `npm run test:all`.
 */
const IN_MEMORY: Record<string, string> = memory === undefined ? {} : { TMPDIR: memory }

// Most objects of the fast tests are short-lived. With more memory for young objects, the collector takes less time.
const YOUNG_MEMORY = '--max-semi-space-size=64'

/** Ends a test that hangs; far above what any test takes on a slow machine. */
const timeoutMs = process.env.SOTTO_TEST_ROUNDS === undefined ? 600_000 : 14_400_000

/** The tiers of tests; a file's suffix names its tier. See test/README.md. */
export default defineConfig({
  test: {
    reporters: ['default', closingLine],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    expect: { poll: { timeout: timeoutMs, interval: 10 } },
    pool: 'forks',
    // Tests wait for threads and processes a good part of their time, so that three keep two cores busy.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
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
          exclude: [ALL, LONG, ...REPLACES_MODULES],
          isolate: false,
          env: IN_MEMORY,
          execArgv: [YOUNG_MEMORY],
        },
      },
      {
        extends: true,
        test: { name: 'fast-isolated', include: REPLACES_MODULES, env: IN_MEMORY, execArgv: [YOUNG_MEMORY] },
      },
      {
        extends: true,
        test: { name: 'all', include: [ALL], exclude: [BROWSER], globalSetup: POSTGRES },
      },
      {
        extends: true,
        test: {
          name: 'cases',
          include: [CASES],
          env: { ...IN_MEMORY, SOTTO_TEST_CASES: 'all' },
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: [BROWSER],
          // The files of a process share its modules and its Chromium.
          isolate: false,
          globalSetup: 'test/servers/console-for-run.ts',
          // Chromium can lose a click on a busy machine. A test that passes at the second attempt is reported as retried.
          retry: 1,
        },
      },
      { extends: true, test: { name: 'long', include: [LONG], globalSetup: POSTGRES } },
    ],
  },
})
