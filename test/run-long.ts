import { execFileSync, spawnSync } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'

/**
 * Runs the tier `long`, with 25 rounds of the tests that run in rounds unless SOTTO_TEST_ROUNDS is set. `--changed` runs
 * only the mutants of source files that differ from the last commit.
 */

/** Files of the tier `all` whose number of rounds is SOTTO_TEST_ROUNDS. */
const ROUNDS = [
  ...['test/reliability/', 'test/ledger/model/model.', 'test/ledger/model/interleavings.'],
  'test/e2e/wire/fuzz.',
]

const root = path.resolve(import.meta.dirname, '..')
const { changed, rest } = readArguments(process.argv.slice(2))
const environment = { ...process.env, SOTTO_TEST_ROUNDS: process.env.SOTTO_TEST_ROUNDS ?? '25' }
const { status } = spawnSync(
  process.execPath,
  [
    path.join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    ...(changed === undefined
      ? ['--project', 'long', '--project', 'all', '.long.test.ts', ...ROUNDS]
      : ['--project', 'long', '--passWithNoTests', 'mutants']),
    ...rest,
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env:
      changed === undefined
        ? environment
        : { ...environment, SOTTO_TEST_CHANGED: JSON.stringify(filesChangedSince(changed)) },
  },
)
process.exitCode = status ?? 1

/** Separates `--changed[=commit]` from what Vitest reads. */
function readArguments(args: readonly string[]) {
  const own = args.filter((arg) => /^--changed(=|$)/.test(arg))
  const { values } = parseArgs({
    args: own.map((arg) => (arg === '--changed' ? '--changed=HEAD' : arg)),
    options: { changed: { type: 'string' } },
  })
  return { changed: values.changed, rest: args.filter((arg) => !own.includes(arg)) }
}

/** The files that differ from a commit, and untracked files. */
function filesChangedSince(commit: string): readonly string[] {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  return [...git('diff', '--name-only', commit), ...git('ls-files', '--others', '--exclude-standard')]
}
