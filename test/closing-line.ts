import type { Reporter, TestModule } from 'vitest/node'

/** Closes a test run with one plain line: how many tests passed, failed and were skipped. */
export default {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]) {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      // A file that cannot be loaded has no tests, but counts as a failure.
      if (module.errors().length > 0) count.failed += 1
      // If the set-up of a suite fails, its tests count as skipped and the suite as failed.
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) count.failed += 1
      for (const test of module.children.allTests()) count[test.result().state] += 1
    }
    console.log(`${count.passed} passed, ${count.failed + count.pending} failed, ${count.skipped} skipped`)
  },
} satisfies Reporter
