import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../../src/ledger/open.ts'
import { makeFolder, temporaryFolder, temporaryLedger } from '../../folders.ts'
import { expectNothingLost } from '../balance-check.ts'
import { faultsOf, messagesByKey, startCharging } from '../children.ts'
import { chance, roundCount, roundCounter } from '../rounds.ts'
import { makeServiceFolder } from '../service.ts'
import { titled } from '../tracing.ts'

test('a limit on the size of files: writing fails with an error, and everything acknowledged is kept', async () => {
  const url = temporaryLedger()
  // In blocks of 512 bytes. The signal is ignored, so that a write beyond it fails instead.
  const under = ['sh', '-c', `trap '' XFSZ; ulimit -f 2000; exec "$@"`, 'sh']
  const charging = startCharging({ url, dataset: 'census', run: 'limited', under })
  await charging.ended
  expect(faultsOf(charging.lines).at(-1)).toMatch(/^fault (stopped|unknown) /)
  expect(charging.lines.at(-1)).toBe('ended')
  const ledger = await openLedger({ url })
  const counts = await expectNothingLost(ledger, 'census', messagesByKey(charging.lines))
  expect(counts.acknowledged).toBeGreaterThan(20)
  await ledger.close()
})

/** The reason why a test cannot create a file system; `undefined` if it can. */
function reasonNotMounted(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root mounts'
  const folder = makeFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0
  if (mounted) spawnSync('umount', [folder])
  rmSync(folder, { recursive: true, force: true })
  return mounted ? undefined : 'nothing may be mounted'
}

const unmounted = reasonNotMounted()

describe.skipIf(unmounted !== undefined)(titled('a separate disk', unmounted), () => {
  function mount(size: string, folder = temporaryFolder()) {
    const run = (...args: string[]) => expect(spawnSync('mount', args).status, args.join(' ')).toBe(0)
    run('-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder)
    onTestFinished(() => {
      spawnSync('umount', ['-l', folder])
    })
    return { folder, again: (options: string) => run('-o', `remount,${options}`, folder) }
  }

  test('a full disk: everything acknowledged is kept, and the process continues once there is space', async () => {
    const counted = roundCounter('a disk that fills up')
    const random = chance('full disk')
    for (let round = 1; round <= roundCount(3); round += 1) {
      const disk = mount(`${400 + random.below(600)}k`)
      const url = path.join(disk.folder, 'ledger.sqlite')
      const charging = startCharging({
        url,
        dataset: 'census',
        run: `round-${round}`,
        questions: 150,
        lanes: 1 + random.below(8),
        leaseMs: 200,
        persistent: true,
        answerLength: 4_000,
      })
      await charging.saidLike(/^fault /)
      expect(faultsOf(charging.lines)[0]).toBe('fault unknown the disk is full')
      disk.again('size=64m')
      await charging.ended
      expect(charging.lines.at(-1)).toBe('ended')
      const ledger = await openLedger({ url })
      const counts = await expectNothingLost(ledger, 'census', messagesByKey(charging.lines))
      expect(counts).toMatchObject({ charges: 150, interrupted: 0 })
      counted.add({ rounds: 1, faults: faultsOf(charging.lines).length, ...counts })
      await ledger.close()
    }
  }, 1_200_000)

  test('a disk that is full at the start, or read-only, is refused with a clear error, and nothing changes', async () => {
    const disk = mount('8m')
    const url = path.join(disk.folder, 'ledger.sqlite')
    const charging = startCharging({ url, dataset: 'census', run: 'before', questions: 20 })
    await charging.ended
    const before = readFileSync(url)

    disk.again('ro')
    await expect(openLedger({ url })).rejects.toMatchObject({ name: 'LedgerFault', kind: 'unusable' })
    disk.again('rw')
    const filler = path.join(disk.folder, 'filler')
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'])
    await expect(openLedger({ url })).rejects.toMatchObject({ name: 'LedgerFault', kind: 'unusable' })
    expect(readFileSync(url).equals(before)).toBe(true)

    rmSync(filler)
    const ledger = await openLedger({ url })
    await expectNothingLost(ledger, 'census', messagesByKey(charging.lines))
    await ledger.close()
  })

  test('a registration that finds the disk full is unavailable, and succeeds once there is space', async () => {
    const { directory, custodianKey, start } = await makeServiceFolder()
    const rows = Array.from({ length: 60_000 }, (_, row) => `${row},${(row * 7919) % 1_000_003}`)
    writeFileSync(path.join(directory, 'rows.csv'), `a,b\n${rows.join('\n')}\n`)
    const datasets = path.join(directory, 'datasets')
    mkdirSync(datasets, { recursive: true })
    const disk = mount('64k', datasets)
    const service = await start()
    const post = async (place: string, body: object) => {
      const headers = { authorization: `Bearer ${custodianKey}`, 'content-type': 'application/json' }
      const response = await fetch(`${service.url}${place}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    const column = (name: string) => ({ name, type: 'integer', lower: 0, upper: 2_000_000 })
    const registration = {
      id: 'rows',
      title: 'Rows',
      source: { kind: 'file', path: 'rows.csv', format: 'csv' },
      columns: [column('a'), column('b')],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 1 },
    }
    const refused = await post('/v1/datasets', registration)
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable', retryAfterSeconds: 10 } })
    disk.again('size=64m')
    expect((await post('/v1/datasets', registration)).status).toBe(201)
    await service.stop('SIGTERM')
  }, 120_000)

  test('an upload that fills the disk gets the reason and leaves nothing, and the next one is stored', async () => {
    const { directory, custodianKey, start } = await makeServiceFolder()
    const uploads = path.join(directory, '.uploads')
    mkdirSync(uploads)
    mount('2m', uploads)
    const service = await start()
    const upload = async (bytes: number) => {
      const body = new FormData()
      body.append('file', new Blob(['x'.repeat(bytes)]), 'people.csv')
      const headers = { authorization: `Bearer ${custodianKey}` }
      const response = await fetch(`${service.url}/v1/sources`, { method: 'POST', headers, body })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    const stored = () =>
      readdirSync(uploads, { recursive: true }).filter((name) => String(name).includes('/'))
    const { status, body } = await upload(3_000_000)
    expect(status).toBe(503)
    expect(body).toMatchObject({
      code: 'unavailable',
      detail: 'The disk has too little free space for uploads. Ask the operator.',
    })
    expect(stored()).toEqual([])
    expect((await upload(1_000_000)).status).toBe(201)
    expect(stored()).toHaveLength(2)
    expect(await service.stop('SIGTERM')).toBe(0)
  })
})
