import { describe, expect, test } from 'vitest'
import { readState } from '../../../console/src/components/address/address-state.ts'
import {
  COMPARISON_CHOICES,
  INITIAL_COMPARISON,
  requestOf,
} from '../../../console/src/pages/mechanisms/comparison.ts'
import { CHOICES, INITIAL_STATE } from '../../../console/src/pages/risk/risk-state.ts'
import { doneOf, marked, parseDone, printDone } from '../../../console/src/pages/tours/done.ts'
import { DEMO, TOURS } from '../../../console/src/pages/tours/tours.ts'
import { query } from '../../../schemas/answers/query.ts'
import { comparisonRequest } from '../../../schemas/studies/mechanisms.ts'
import { censusRegistration } from '../../../src/datasets/registration/demo.ts'

const links = TOURS.flatMap((tour) =>
  tour.steps.map(({ id, link }) => ({ name: `${tour.id}/${id}`, url: new URL(link.href, 'http://console') })),
)

describe('The links of the tours', () => {
  test('lead to the demo dataset', () => {
    expect(DEMO).toBe(censusRegistration.id)
  })

  test.each(links)('$name opens a page that exists, with parameters that it reads', ({ url }) => {
    const { pathname, searchParams } = url
    switch (pathname) {
      case '/datasets/census':
        expect([...searchParams]).toEqual([])
        break
      case '/datasets/census/ask':
      case '/evaluations': {
        const body = query.parse(JSON.parse(searchParams.get('q') ?? ''))
        const columns = censusRegistration.columns.map(({ name }) => name)
        const mentioned = JSON.stringify(body).match(/Occupation|Sex|Age|Married|Earnings/g) ?? []
        expect(columns).toEqual(expect.arrayContaining(mentioned))
        break
      }
      case '/risk': {
        const state = readState(INITIAL_STATE, CHOICES, searchParams)
        for (const [name, text] of searchParams) expect(String(state[name])).toBe(text)
        break
      }
      case '/mechanisms': {
        const state = readState(INITIAL_COMPARISON, COMPARISON_CHOICES, searchParams)
        for (const [name, text] of searchParams) expect(String(state[name])).toBe(text)
        expect(comparisonRequest.safeParse(requestOf(state)).error).toBeUndefined()
        break
      }
      default:
        expect.fail(`no page is known at ${pathname}`)
    }
  })

  test('have steps and tours with names of their own', () => {
    expect(new Set(links.map(({ name }) => name)).size).toBe(links.length)
  })
})

describe('The steps that are done', () => {
  test('are kept as a text and counted by tour', () => {
    const tour = { id: 'a', steps: [{ id: 'x' }, { id: 'y' }] }
    const done = marked(marked(parseDone(null), 'a', 'x', true), 'b', 'y', true)
    expect(doneOf(parseDone(printDone(done)), tour)).toBe(1)
    expect(doneOf(marked(done, 'a', 'x', false), tour)).toBe(0)
  })

  test.each(['{', '{"a": 1}', '[1, null]', ''])('are none if something else was stored: %j', (stored) => {
    expect([...parseDone(stored)]).toEqual([])
  })
})
