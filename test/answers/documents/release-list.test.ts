import { expect, test } from 'vitest'
import {
  cursorOf,
  positionOf,
  releasesCsv,
  releasesJson,
} from '../../../src/answers/documents/release-list.ts'
import type { ListedRelease } from '../../../src/ledger/contract/releases.ts'
import { basic, rho } from '../../ledger/support.ts'

const RELEASE: ListedRelease = {
  ...{ id: '0'.repeat(32), dataset: 'census', datasetVersion: '1', principal: 'ada', kind: 'count' },
  ...{ answeredAtMs: Date.UTC(2026, 0, 31), price: basic('0.1', '0.000001'), shared: false },
  request: '{"dataset":"census","query":{"epsilon":0.1,"kind":"count"},"version":"1"}',
  answer: '{"question":{"kind":"count","epsilon":0.1},"softwareVersion":"1.2.3","result":{"value":1}}',
}

const csvLines = (...releases: Partial<ListedRelease>[]) =>
  releasesCsv({ releases: releases.map((changes) => ({ ...RELEASE, ...changes })) }).split('\r\n')

test('a spreadsheet computes no text of a list', () => {
  // Names of an OpenID provider may begin like a formula.
  for (const start of ['=', '+', '-', '@', '\t', '\r']) {
    const [, row] = releasesCsv({ releases: [{ ...RELEASE, principal: `${start}1+1` }] }).split(/\r\n(?=0)/)
    expect(row?.split(',')[4]).toMatch(/^"?'/)
  }
  const quoted = csvLines({ principal: '"=1",\n=2' })[1] ?? ''
  expect(quoted).toContain(',"""=1"",\n=2",')
  for (const broken of ['ada\n=1', 'ada\r=1'])
    expect(csvLines({ principal: broken })[1]).toContain(`,"${broken}",`)
})

test('prices are in the units of the accounting', () => {
  const [, summed, zcdp] = csvLines({}, { price: rho('0.25'), shared: true })
  expect(summed).toContain(',2026-01-31T00:00:00.000Z,1.2.3,0.1,0.000001,,,')
  expect(zcdp).toContain(',2026-01-31T00:00:00.000Z,1.2.3,,,0.25,true,')
})

test('the stored answer is in the list as it is', () => {
  const answer = '{"question":{"kind":"count"},"result":{"value":1.50}}'
  const next = { answeredAtMs: 5, id: 'f'.repeat(32) }
  const json = releasesJson({ releases: [{ ...RELEASE, answer }], next })
  expect(json).toContain(`,"answer":${answer}}],"next":"5-${'f'.repeat(32)}"}`)
  expect(positionOf(cursorOf(next))).toEqual(next)
})
