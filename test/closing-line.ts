import type { Reporter, TestModule } from 'vitest/node'

/** Closes a test run with one plain line: how many tests passed, failed and were skipped. */
export default {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]) {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      // A file that could not even be loaded holds no tests, and is a failure all the same.
      if (module.errors().length > 0) count.failed += 1
      // Nor has a suite whose set-up failed any test that failed: they count as skipped, and it as failed.
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) count.failed += 1
      for (const test of module.children.allTests()) count[test.result().state] += 1
    }
    console.log(`${count.passed} passed, ${count.failed + count.pending} failed, ${count.skipped} skipped`)
  },
} satisfies Reporter
