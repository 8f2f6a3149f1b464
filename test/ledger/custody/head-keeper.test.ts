import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { ChainHead } from '../../../src/ledger/contract/chain.ts'
import { createHeadKeeper } from '../../../src/ledger/custody/head-keeper.ts'
import { headLines, laterHeads, readKnownHeads } from '../../../src/ledger/custody/known-heads.ts'
import { temporaryFolder } from '../../folders.ts'

let folder = ''
let file = ''
beforeEach(() => {
  folder = temporaryFolder()
  file = path.join(folder, 'heads.jsonl')
})

const head = (dataset: string, sequence: number, digit = 'a'): ChainHead => ({
  dataset,
  sequence,
  hash: digit.repeat(64),
})
const byDataset = (...heads: ChainHead[]) => new Map(heads.map((each) => [each.dataset, each]))

/** A keeper over a ledger whose heads the test sets. */
function keeperOver(heads: ChainHead[]) {
  const ledger = { current: heads, reads: 0 }
  const failures: unknown[] = []
  const losses: string[] = []
  const keeper = createHeadKeeper(
    {
      async heads() {
        ledger.reads += 1
        return ledger.current
      },
    },
    file,
    { onFailure: (error) => failures.push(error), onLoss: (reason) => losses.push(reason) },
  )
  return { ledger, keeper, failures, losses }
}

test('heads that replicas keep in one file are merged by the largest sequence', async () => {
  const merged = laterHeads(
    byDataset(head('a', 3), head('b', 9, 'b')),
    byDataset(head('a', 4, 'c'), head('b', 8), head('c', 1)),
  )
  expect(merged).toEqual(byDataset(head('a', 4, 'c'), head('b', 9, 'b'), head('c', 1)))
  await writeFile(file, headLines(merged))
  expect(await readKnownHeads(file)).toEqual(merged)
})

test('every call of keep is followed by a read of the heads, and calls meanwhile share one', async () => {
  const { ledger, keeper } = keeperOver([head('a', 1)])
  const calls = Array.from({ length: 10 }, () => keeper.keep())
  ledger.current = [head('a', 2)]
  await Promise.all(calls)
  expect(ledger.reads).toBe(2)
  expect(await readKnownHeads(file)).toEqual(byDataset(head('a', 2)))
  await keeper.close()
})

test('a file that cannot be written is reported, and the next write tries again', async () => {
  const { keeper, failures } = keeperOver([head('a', 1)])
  await rm(folder, { recursive: true })
  await keeper.keep()
  expect(failures).toMatchObject([{ code: 'ENOENT' }])
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-heads-'))
  await keeper.close()
})

test.each([
  ['events', [head('a', 4)], 'the ledger has lost events of a'],
  ['a budget', [], 'the ledger has lost the budget of a'],
  ['its history', [head('a', 5, 'b')], 'the ledger has another event 5 of a'],
])(
  'a ledger that loses %s while the service runs is noticed, and the file is kept',
  async (_what, left, reason) => {
    const { ledger, keeper, losses } = keeperOver([head('a', 5)])
    await keeper.keep()
    const before = await readFile(file, 'utf8')
    ledger.current = left
    await keeper.keep()
    expect(losses).toEqual([reason])
    expect(await readFile(file, 'utf8')).toBe(before)
    await keeper.close()
  },
)
