import { expect, test } from 'vitest'
import { closeChangelog, statedVersions } from '../../release/versions.ts'

test('all parts state one version', async () => {
  const stated = await statedVersions()
  expect(stated.length).toBeGreaterThan(10)
  const versions = stated.map((each) => each.replace(/.*: /, ''))
  expect(new Set(versions).size, stated.join('\n')).toBe(1)
})

const OPEN = '# Changelog\n\n## 0.2.0 - Unreleased\n\n### Added\n\n- A thing.\n'
const BEFORE = '\n## 0.1.0 - 2026-01-02\n\n- The first.\n'

test('a release closes the unreleased changes, whether or not their heading has a version', () => {
  const closed = OPEN.replace('Unreleased', '2026-11-27')
  expect(closeChangelog(OPEN + BEFORE, '0.2.0', '2026-11-27')).toBe(closed + BEFORE)
  const unnamed = OPEN.replace('0.2.0 - ', '')
  expect(closeChangelog(unnamed + BEFORE, '0.2.0', '2026-11-27')).toBe(closed + BEFORE)
})

test.each([
  ['no heading', '# Changelog\n'],
  ['only released changes', `# Changelog\n${BEFORE}`],
  ['no changes', `# Changelog\n\n## Unreleased\n${BEFORE}`],
])('a release needs changes: %s', (_, text) => {
  expect(() => closeChangelog(text, '0.2.0', '2026-11-27')).toThrow('"## 0.2.0 - Unreleased"')
})
