import { describe, expect, test } from 'vitest'
import { sha256 } from '../../../src/ledger/canonical.ts'
import type { StoredEvent } from '../../../src/ledger/contract/chain.ts'
import { exportLine, exportLines } from '../../../src/ledger/exported.ts'
import {
  type ExportFindings,
  type ExportOptions,
  followExport,
  isSound,
} from '../../../src/ledger/protocol/verifier/export.ts'
import type { NotedEvent } from '../../../src/ledger/protocol/verifier/noted-events.ts'
import {
  ANSWER,
  chain,
  type EventFacts,
  KINDS_OF_EVENTS,
  SESSION_ANSWER,
  sampleHistory,
} from './sample-history.ts'

const histories = (['basic', 'zcdp'] as const).map((accounting) => ({
  accounting,
  events: chain('census', sampleHistory(accounting)),
}))

async function follow(
  bytes: string | Uint8Array,
  options?: Omit<ExportOptions, 'sha256'>,
): Promise<ExportFindings> {
  return followExport(chunksOf(Buffer.from(bytes)), { sha256, ...options })
}

async function* chunksOf(bytes: Uint8Array, length = 4096): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length)
}

const written = (events: readonly StoredEvent[]) => events.map(exportLine).join('')

function noted(events: readonly StoredEvent[], place = events.length - 1): NotedEvent {
  return { dataset: 'census', sequence: place + 1, hash: events[place]?.hash ?? '' }
}

const receiptOf = (events: readonly StoredEvent[], chargeId: string, answer: string): NotedEvent => ({
  ...noted(
    events,
    events.findIndex(({ canonical }) => JSON.parse(canonical).chargeId === chargeId),
  ),
  answer: { chargeId, answerHash: sha256(answer) },
})

describe.each(histories)('$accounting', ({ events }) => {
  const places = events.map((_, place) => place)

  test('an export with every kind of event is sound, however its bytes are divided', async () => {
    // Only the chain of a population has the last kind.
    expect([...new Set(events.map(({ canonical }) => JSON.parse(canonical).kind)), 'carried'].sort()).toEqual(
      KINDS_OF_EVENTS.toSorted(),
    )
    const whole = await follow(written(events), { dataset: 'census', noted: [noted(events)] })
    expect(isSound(whole)).toBe(true)
    expect(whole.datasets).toMatchObject([
      {
        dataset: 'census',
        verification: { kind: 'sound', events: events.length, headHash: events.at(-1)?.hash },
      },
    ])
    const bytes = Buffer.from(written(events))
    for (const length of [1, 7, 1_000, bytes.length]) {
      expect(
        await followExport(chunksOf(bytes, length), { sha256, dataset: 'census', noted: [noted(events)] }),
      ).toEqual(whole)
    }
    expect(isSound(await follow(written(events).trimEnd()))).toBe(true)
  })

  test('a missing event, a repeated one and two exchanged ones are found', async () => {
    const broken = async (changed: readonly StoredEvent[]) => {
      const { datasets, ...findings } = await follow(written(changed))
      expect(isSound({ datasets, ...findings })).toBe(false)
      return datasets[0]?.verification
    }
    for (const place of places) {
      const event = events[place]
      if (event === undefined) throw new Error('there is an event')
      if (place < events.length - 1) {
        expect(await broken(events.toSpliced(place, 1))).toMatchObject({ sequence: place + 1 })
      }
      expect(await broken(events.toSpliced(place, 0, event))).toMatchObject({ sequence: place + 2 })
      expect(await broken([...events, event])).toMatchObject({ sequence: events.length + 1 })
      for (const [later, other] of events.entries()) {
        if (later <= place) continue
        expect(await broken(events.with(place, other).with(later, event))).toMatchObject({
          sequence: place + 1,
        })
      }
    }
  })

  test('missing last events are found with the head and with every receipt for them', async () => {
    const receipt = receiptOf(events, 'a', ANSWER)
    for (const place of places) {
      const cut = written(events.slice(0, place))
      const alone = await follow(cut)
      expect(isSound(alone)).toBe(place > 0)
      const withHead = await follow(cut, { noted: [noted(events)] })
      expect(isSound(withHead)).toBe(false)
      expect(withHead.noted[0]?.reason).toBe(`event ${events.length} is missing`)
      const [withReceipt] = (await follow(cut, { noted: [receipt] })).noted
      expect(withReceipt?.reason).toBe(
        place < 3 ? 'event 3 is missing' : place === 3 ? 'no later event records the answer' : undefined,
      )
      for (const kept of places.slice(0, place)) {
        expect(isSound(await follow(cut, { noted: [noted(events, kept)] }))).toBe(true)
      }
      // In the middle of a line.
      const torn = await follow(cut + exportLine(events[place] ?? { canonical: '', hash: '' }).slice(0, 90))
      expect(torn.badLine?.line).toBe(place + 1)
    }
  })

  test('a history rewritten from any event on is found with every event noted from there on', async () => {
    for (const place of places) {
      const facts = events.map(({ canonical }): EventFacts => {
        const { version, dataset, sequence, previousHash, at, ...rest } = JSON.parse(canonical)
        return rest
      })
      const changed = facts.with(place, { ...(facts[place] as EventFacts), reason: 'another' })
      const anew = chain('census', changed)
      expect(isSound(await follow(written(anew)))).toBe(true)
      for (const later of places) {
        const { noted: found } = await follow(written(anew), { noted: [noted(events, later)] })
        expect(found[0]?.reason).toBe(later < place ? undefined : `event ${later + 1} has another hash`)
      }
    }
  })

  test('a receipt confirms its answer, byte for byte, and no other', async () => {
    const session = events.findIndex(({ canonical }) => JSON.parse(canonical).question === 1)
    const good: readonly NotedEvent[] = [
      receiptOf(events, 'a', ANSWER),
      receiptOf(events, 'b', 'second'),
      { ...receiptOf(events, 'b', 'second'), ...noted(events, 9) },
      receiptOf(events, 'a of ben', 'shared'),
      {
        ...noted(events, session - 1),
        answer: { chargeId: 'session', question: 1, answerHash: sha256(SESSION_ANSWER) },
      },
    ]
    const wrong: readonly [NotedEvent, string][] = [
      [receiptOf(events, 'a', `${ANSWER} `), 'event 4 records another answer'],
      [
        { ...receiptOf(events, 'a', ANSWER), ...noted(events, 3) },
        'event 4 does not debit the charge of the answer',
      ],
      [
        { ...receiptOf(events, 'a', ANSWER), ...noted(events, 7) },
        'event 8 does not debit the charge of the answer',
      ],
      [receiptOf(events, 'last', 'lost'), 'no later event records the answer'],
      [{ ...receiptOf(events, 'a', ANSWER), sequence: 99 }, 'event 99 is missing'],
      [{ ...receiptOf(events, 'a', ANSWER), dataset: 'other' }, 'event 3 is missing'],
      [
        {
          ...noted(events, session),
          answer: { chargeId: 'session', question: 1, answerHash: sha256(SESSION_ANSWER) },
        },
        'no later event records the answer',
      ],
      [
        { ...noted(events, 1), answer: { chargeId: 'session', question: 2, answerHash: sha256('above') } },
        `event ${session + 2} records another answer`,
      ],
    ]
    const found = await follow(written(events), { noted: [...good, ...wrong.map(([each]) => each)] })
    expect(found.noted.map(({ reason }) => reason)).toEqual([
      ...good.map(() => undefined),
      ...wrong.map(([, reason]) => reason),
    ])
    expect(isSound(await follow(written(events), { noted: good }))).toBe(true)
    expect(isSound(found)).toBe(false)
  })
})

test('several datasets in one export are verified separately', async () => {
  const [census, survey] = [chain('census', sampleHistory('basic')), chain('survey', sampleHistory('zcdp'))]
  const mixed = census.flatMap((event, place) => [event, survey[place] ?? event])
  const findings = await follow(written(mixed))
  expect(isSound(findings)).toBe(true)
  expect(findings.datasets.map(({ dataset }) => dataset)).toEqual(['census', 'survey'])
  const without = await follow(written(mixed.toSpliced(7, 1)))
  expect(without.datasets.map(({ verification }) => verification)).toMatchObject([
    { kind: 'sound', events: census.length },
    { kind: 'broken', sequence: 4 },
  ])
  expect((await follow(written(mixed), { dataset: 'census' })).datasets).toMatchObject([
    { dataset: 'census', verification: { kind: 'broken', sequence: 2 } },
  ])
})

test.each([
  ['nothing', '', 1, 'the export is empty'],
  ['a page of another kind', '{"status":404}\n', 1, 'the line is not {"event":…,"hash":"…"}'],
  ['an empty line', '\n', 1, 'the line is not {"event":…,"hash":"…"}'],
  [
    'another member',
    `{"event":{},"hash":"${'0'.repeat(64)}","x":1}\n`,
    1,
    'the line is not {"event":…,"hash":"…"}',
  ],
  ['broken JSON', `{"event":{"a",},"hash":"${'0'.repeat(64)}"}\n`, 1, 'the event is not JSON'],
  ['null', `{"event":null,"hash":"${'0'.repeat(64)}"}\n`, 1, 'the event names no dataset'],
  [
    'a dataset that is no text',
    `{"event":{"dataset":1},"hash":"${'0'.repeat(64)}"}`,
    1,
    'the event names no dataset',
  ],
])('a line that holds no event is named: %s', async (_name, text, line, reason) => {
  const findings = await follow(text)
  expect(findings).toEqual({ datasets: [], noted: [], badLine: { line, reason } })
  expect(isSound(findings)).toBe(false)
})

test('the first of two invalid lines is reported, and the other lines are verified', async () => {
  const [{ events }] = histories as [(typeof histories)[0]]
  const lines = events.map(exportLine)
  const findings = await follow(lines.with(4, 'x\n').with(9, '\n').join(''))
  expect(findings.badLine?.line).toBe(5)
  expect(findings.datasets).toMatchObject([{ verification: { kind: 'broken', sequence: 5 } }])
})

test('answers may be recorded in another order than their charges', async () => {
  const history = sampleHistory('basic')
  const [opened, , charged, answered] = history as [EventFacts, EventFacts, EventFacts, EventFacts]
  const events = chain('census', [
    opened,
    charged,
    { ...charged, chargeId: 'x' },
    { ...answered, chargeId: 'x', answerHash: sha256('of x') },
    answered,
  ])
  const receipts = [receiptOf(events, 'a', ANSWER), receiptOf(events, 'x', 'of x')]
  expect(isSound(await follow(written(events), { noted: receipts }))).toBe(true)
})

test('a byte order mark is refused', async () => {
  const [{ events }] = histories as [(typeof histories)[0]]
  expect((await follow(`\ufeff${written(events)}`)).badLine?.line).toBe(1)
})

test('invalid UTF-8 is not read as the replacement character', async () => {
  const [{ events }] = histories as [(typeof histories)[0]]
  const bytes = Buffer.from(written(events))
  const position = bytes.indexOf('\ufffd')
  expect(position).toBeGreaterThan(0)
  const replaced = Buffer.concat([bytes.subarray(0, position), Buffer.of(0xff), bytes.subarray(position + 3)])
  expect(replaced.toString()).toBe(bytes.toString())
  expect((await follow(replaced)).badLine).toEqual({ line: 5, reason: 'the line is not UTF-8' })
})

test('an endless line is not kept in memory', async () => {
  let given = 0
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; given < 1_000; given += 1) yield Buffer.alloc(1 << 20, 'a')
  }
  expect((await followExport(endless(), { sha256 })).badLine).toEqual({
    line: 1,
    reason: 'the line is longer than any event',
  })
  expect(given).toBeLessThan(20)
})

test('a ledger is exported in pages, unchanged', async () => {
  const [{ events }] = histories as [(typeof histories)[0]]
  const pages: string[] = []
  const ledger = {
    events: async (_dataset: string, { afterSequence }: { afterSequence: number }) =>
      events.slice(afterSequence, afterSequence + 5),
    requests: async () => new Map(),
    sessionAnswers: async () => [],
  }
  for await (const page of exportLines(ledger, 'census')) pages.push(page)
  expect(pages).toHaveLength(Math.ceil(events.length / 5))
  expect(pages.join('')).toBe(written(events))
})
