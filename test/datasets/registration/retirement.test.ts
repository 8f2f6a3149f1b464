import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import type { Catalog } from '../../../src/datasets/catalog/catalog.ts'
import { createVersionUses } from '../../../src/datasets/catalog/version-uses.ts'
import { createRetirement } from '../../../src/datasets/registration/retirement.ts'
import type { DatasetEngine } from '../../../src/engines/routing.ts'

/** A retirement over a catalog with one dataset, and the calls that it makes. */
function retirementOver(present: Partial<Dataset> | undefined) {
  const calls: string[] = []
  const note = (call: string) => async (dataset: Pick<Dataset, 'version'>) => {
    calls.push(`${call} ${dataset.version}`)
  }
  const catalog = {
    get: () => present && { dataset: present },
    discard: note('discard'),
  } as unknown as Catalog
  const engine = { closeDataset: note('close') } as unknown as DatasetEngine
  const versionUses = createVersionUses()
  const onError = (error: unknown) => calls.push(String(error))
  return { calls, versionUses, retirement: createRetirement({ catalog, engine, versionUses, onError }) }
}

const first = { id: 'a', version: '1' } as Dataset
const second = { id: 'a', version: '2', firstVersion: '1' } as Dataset

test('a replaced version is closed and removed once the last request that was planned on it has ended', async () => {
  const { calls, versionUses, retirement } = retirementOver(second)
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const tasks = ends.map(({ promise }) => versionUses.during(first, () => promise))
  const other = Promise.withResolvers<void>()
  const otherTask = versionUses.during(second, () => other.promise)
  retirement.retire(first, true)
  for (const [index, end] of ends.entries()) {
    await setImmediate()
    expect(calls).toEqual([])
    end.resolve()
    await tasks[index]
  }
  await setImmediate()
  expect(calls).toEqual(['close 1', 'discard 1'])
  other.resolve()
  await otherTask
})

test('a failed request ends its use as well', async () => {
  const { calls, versionUses, retirement } = retirementOver(second)
  const task = versionUses.during(first, () => Promise.reject(new Error('failed')))
  await expect(task).rejects.toThrow('failed')
  retirement.retire(first, false)
  await setImmediate()
  expect(calls).toEqual(['close 1'])
})

test('a version that another process replaced waits for its requests; one that it withdrew does not', async () => {
  const never = new Promise<void>(() => undefined)
  const replaced = retirementOver(second)
  void replaced.versionUses.during(first, () => never)
  await replaced.retirement.closeReplaced(first)
  expect(replaced.calls).toEqual([])
  // The withdrawal of the present version closes the earlier one, too.
  await replaced.retirement.close(second)
  expect(replaced.calls.toSorted()).toEqual(['close 1', 'close 2'])
  for (const present of [undefined, { id: 'a', version: '2' }]) {
    const withdrawn = retirementOver(present)
    void withdrawn.versionUses.during(first, () => never)
    await withdrawn.retirement.closeReplaced(first)
    expect(withdrawn.calls).toEqual(['close 1'])
  }
})
