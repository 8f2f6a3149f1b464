import { describe, expect, test } from 'vitest'
import {
  type ApiKey,
  isComplete,
  type KeyForm,
  keyRequestOf,
  keysMatching,
  validityOf,
} from '../../../console/src/pages/keys/key-request.ts'

const NOW_MS = Date.UTC(2026, 0, 31, 12)

const FORM: KeyForm = {
  name: ' notebook ',
  role: 'analyst',
  scope: 'all',
  chosen: [],
  further: '',
  expiry: 'never',
  date: '',
  quota: {},
  samePrincipal: false,
  spending: 'session',
  epsilon: '',
  halfWidths: false,
}

describe('The request for a new key', () => {
  test('leaves out what the form leaves open', () => {
    expect(keyRequestOf(FORM, NOW_MS)).toEqual({ name: 'notebook', role: 'analyst', samePrincipal: false })
  })

  test('names each dataset once, chosen or entered', () => {
    const form: KeyForm = {
      ...FORM,
      scope: 'some',
      chosen: ['census', 'visits'],
      further: 'later, census ,x',
    }
    expect(keyRequestOf(form, NOW_MS).datasets).toEqual(['census', 'visits', 'later', 'x'])
  })

  test('states the time of expiry in UTC', () => {
    expect(keyRequestOf({ ...FORM, expiry: '30' }, NOW_MS).expiresAt).toBe('2026-03-02T12:00:00.000Z')
    expect(keyRequestOf({ ...FORM, expiry: 'date', date: '2027-01-01' }, NOW_MS).expiresAt).toBe(
      '2027-01-01T00:00:00Z',
    )
  })

  test('has the limits that were entered', () => {
    expect(keyRequestOf({ ...FORM, quota: { burst: ' 5', concurrentRequests: '' } }, NOW_MS).quota).toEqual({
      burst: 5,
    })
  })

  test('has what sessions of BI tools begin with, for analysts only', () => {
    const form: KeyForm = { ...FORM, spending: 'never', epsilon: ' 0.1', halfWidths: true }
    const settings = { epsilon: 0.1, halfWidths: true }
    expect(keyRequestOf(form, NOW_MS)).toMatchObject({ spending: 'never', settings })
    expect(keyRequestOf({ ...form, role: 'auditor' }, NOW_MS)).not.toHaveProperty('spending')
  })

  test.each([
    [{}, true],
    [{ name: '  ' }, false],
    [{ scope: 'some' }, false],
    [{ scope: 'some', further: 'later' }, true],
    [{ expiry: 'date' }, false],
  ] as const)('is complete or not: %o', (changes, complete) => {
    expect(isComplete({ ...FORM, ...changes })).toBe(complete)
  })
})

test.each([
  [{}, 'for-good'],
  [{ expiresAt: '2026-03-01T00:00:00Z' }, 'limited'],
  [{ expiresAt: '2026-02-10T00:00:00Z' }, 'ends-soon'],
  [{ expiresAt: '2026-01-31T12:00:00Z' }, 'expired'],
] as const)('The validity of a key with %o is: %s', (apiKey, validity) => {
  expect(validityOf(apiKey, NOW_MS)).toBe(validity)
})

test('Keys are filtered by name, role and dataset', () => {
  const createdAt = '2026-01-02T03:04:05Z'
  const keys: ApiKey[] = [
    { id: 'ada.1', name: 'ada', role: 'analyst', datasets: ['census'], createdAt },
    { id: 'bob.1', name: 'bob', role: 'auditor', createdAt },
  ]
  const idsOf = (text: string) => keysMatching(keys, text).map(({ id }) => id)
  expect(idsOf('')).toEqual(['ada.1', 'bob.1'])
  expect(idsOf('CENS')).toEqual(['ada.1'])
  expect(idsOf('audit')).toEqual(['bob.1'])
  expect(idsOf('nothing')).toEqual([])
})
