import { expect } from 'vitest'
import { sha256 } from '../../../../src/ledger/canonical.ts'
import type { NewAct } from '../../../../src/ledger/contract/acts.ts'
import { ADMINISTRATION } from '../../../../src/ledger/contract/acts.ts'
import { exportLines } from '../../../../src/ledger/exported.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { followExport } from '../../../../src/ledger/protocol/verifier/export.ts'
import { verifyLedger } from '../../../../src/ledger/verification.ts'
import { chargeOf, historyOf, loss, question, summed } from '../../support.ts'
import { allotment, type ContractTest, contractTest, withCensus } from '../contract-test.ts'

const CREATED: NewAct = {
  kind: 'key-created',
  principal: 'carol',
  subject: 'key-1',
  facts: { role: 'analyst', datasets: ['census'], expires: false, days: 90 },
}

/** The administrative acts, oldest first. */
async function actsOf(ledger: Ledger) {
  return [...(await ledger.acts({ limit: 1_000 }))].reverse()
}

/** Requirements on the chain of administrative acts. */
export const ACTS: readonly ContractTest[] = [
  contractTest('administrative acts form a chain of their own, in order', async ({ ledger, clock }) => {
    expect(await ledger.acts({ limit: 10 })).toEqual([])
    expect(await ledger.head(ADMINISTRATION)).toBeUndefined()
    expect(await verifyLedger(ledger, ADMINISTRATION)).toBeUndefined()
    const first = await ledger.recordAct(CREATED)
    clock.ms += 1_000
    const second = await ledger.recordAct({ kind: 'key-deleted', principal: 'carol', subject: 'key-1' })
    expect([first.sequence, second.sequence]).toEqual([1, 2])
    expect(await actsOf(ledger)).toEqual([
      { ...CREATED, ...first, at: '2026-01-01T00:00:00.000Z' },
      {
        ...{ kind: 'key-deleted', principal: 'carol', subject: 'key-1', facts: {} },
        ...second,
        at: '2026-01-01T00:00:01.000Z',
      },
    ])
    expect(await ledger.acts({ limit: 1, beforeSequence: 2 })).toMatchObject([{ sequence: 1 }])
    expect(await ledger.head(ADMINISTRATION)).toMatchObject(second)
    expect(await ledger.datasets()).toEqual([])
    expect(await verifyLedger(ledger, ADMINISTRATION)).toMatchObject({
      kind: 'sound',
      events: 2,
      headHash: second.hash,
    })
  }),
  contractTest(
    'grants, allotments, suspensions and resumptions are acts that refer to their events',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      await ledger.grant('census', loss('1'), 'carol', 'asked for')
      await ledger.allot(allotment('ada', loss('0.5')))
      await ledger.allot(allotment('ada'))
      const { id } = chargeOf(await ledger.charge(question('a')))
      await ledger.recordFailure(id, 1, { counts: true, limit: 1 })
      await ledger.resume('census', 'carol', 'looked into')
      const events = (await historyOf(ledger)).filter(
        ({ kind }) => !['opened', 'charged', 'failed'].includes(kind),
      )
      const kinds = [
        ...['budget-granted', 'allotment-set', 'allotment-set', 'dataset-suspended', 'dataset-resumed'],
      ]
      expect(await actsOf(ledger)).toMatchObject(
        events.map(({ sequence, hash }, place) => ({
          kind: kinds[place],
          principal: kinds[place] === 'dataset-suspended' ? 'sotto' : 'carol',
          subject: 'census',
          facts: { sequence, hash },
        })),
      )
      expect(events).toHaveLength(5)
      expect(await verifyLedger(ledger, ADMINISTRATION)).toMatchObject({ kind: 'sound', events: 5 })
    },
  ),
  contractTest('acts that were refused or that changed nothing are not recorded', async (fixture) => {
    const ledger = await withCensus(fixture)
    await ledger.charge(question('a'))
    expect((await ledger.allot(allotment('ada', loss('0.05')))).kind).toBe('below-spent')
    await ledger.grant('never', loss('1'), 'carol', 'asked for')
    await ledger.resume('census', 'carol', 'no reason')
    const wrong: NewAct[] = [
      { ...CREATED, kind: 'charged' as 'key-created' },
      { ...CREATED, principal: '' },
      { ...CREATED, subject: '' },
      { ...CREATED, subject: 'k'.repeat(513) },
      { ...CREATED, subject: 'a\0b' },
      { ...CREATED, facts: { note: 'n'.repeat(4_096) } },
      { ...CREATED, facts: { note: '\ud800' } },
      { ...CREATED, facts: { days: Number.NaN } },
      { ...CREATED, facts: { '1': 'a' } },
      { ...CREATED, facts: { key: { nested: true } as never } },
      { ...CREATED, kind: 'budget-granted' },
    ]
    for (const act of wrong) await expect(ledger.recordAct(act)).rejects.toThrow(RangeError)
    expect(await actsOf(ledger)).toEqual([])
    expect(await ledger.head(ADMINISTRATION)).toBeUndefined()
  }),
  contractTest('no dataset can have the name of the chain of administrative acts', async ({ ledger }) => {
    await ledger.recordAct(CREATED)
    const calls = [
      () => ledger.openBudget(ADMINISTRATION, summed('1'), 'carol'),
      () => ledger.grant(ADMINISTRATION, loss('1'), 'carol', 'asked for'),
      () => ledger.allot({ ...allotment('ada', loss('1')), dataset: ADMINISTRATION }),
      () => ledger.charge(question('a', { dataset: ADMINISTRATION })),
      () => ledger.resume(ADMINISTRATION, 'carol', 'no reason'),
    ]
    for (const call of calls) await expect(call()).rejects.toThrow(RangeError)
    expect(await actsOf(ledger)).toHaveLength(1)
  }),
  contractTest(
    'an export of the administrative acts is sound, and every change of it is found',
    async (fixture) => {
      const ledger = await withCensus(fixture)
      await ledger.recordAct(CREATED)
      await ledger.grant('census', loss('1'), 'carol', 'asked for')
      await ledger.recordAct({ kind: 'key-deleted', principal: 'carol', subject: 'key-1' })
      let exported = ''
      for await (const lines of exportLines(ledger, ADMINISTRATION)) exported += lines
      const follow = (text: string) =>
        followExport(
          (async function* () {
            yield Buffer.from(text)
          })(),
          { sha256 },
        )
      expect(await follow(exported)).toMatchObject({
        datasets: [{ dataset: ADMINISTRATION, verification: { kind: 'sound', events: 3 } }],
      })
      for (const [from, to] of [
        ['key-1', 'key-2'],
        ['carol', 'carla'],
        ['"days":90', '"days":91'],
        ['key-created', 'key-rotated'],
      ] as const) {
        const found = await follow(exported.replace(from, to))
        expect(found.datasets[0]?.verification).toMatchObject({ kind: 'broken', sequence: 1 })
      }
      const [, second = '', third = ''] = exported.split('\n')
      expect((await follow(`${second}\n${third}\n`)).datasets[0]?.verification.kind).toBe('broken')
    },
  ),
]
