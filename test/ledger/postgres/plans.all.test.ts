import { expect, test } from 'vitest'
import { chargeId } from '../../../src/ledger/canonical.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import { withChangedSource } from '../../mutants/changed-source.ts'
import { selectMutants } from '../../mutants/select-mutants.ts'
import { describeOwnPostgres } from '../../servers/postgres.ts'
import { SESSION } from '../contract/operations/sessions.ts'
import type { OpenLedger } from '../model/races.ts'
import { loss, question, summed } from '../support.ts'

/** Settings that log the plan of every statement, including those in functions and triggers, with the rows it read. */
const LOGS_PLANS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
}
/** Enough rows to detect a plan that reads all of them, and few enough to appear cheap to the planner. */
const CHARGES_BEFORE = 1_000
const BATCH = 64
/** Largest number of rows of one table that a plan node may read: a few for each call of a batch. */
const MOST_ROWS = 4 * BATCH

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Parses the plans in a server's log, with their statements. */
function plansIn(
  log: string,
): readonly { readonly statement: string; readonly nodes: readonly PlanNode[] }[] {
  // Continuation lines of the log begin with a tab.
  return [...log.matchAll(/ plan:\n((?:\t.*\n)+)/g)].map(([, text = '']) => {
    const plan: { 'Query Text': string; Plan: PlanNode } = JSON.parse(text)
    return { statement: plan['Query Text'], nodes: nodesOf(plan.Plan) }
  })
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

/** True if a plan node reads a whole table of the ledger, or more rows than a batch needs. */
function readsMuch(node: PlanNode): boolean {
  const { 'Relation Name': table, 'Index Name': index, 'Node Type': type } = node
  // This table has one row and is read when a connection is opened.
  if ((table === undefined && index === undefined) || table === 'schema_version') return false
  const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  return type === 'Seq Scan' || rows > MOST_ROWS
}

async function charged(ledger: Ledger, prefix: string, count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, (_, number) => `${prefix} ${number}`)
  const price = { accounting: 'basic', ...loss('0.000001') } as const
  await Promise.all(keys.map((key) => ledger.charge(question(key, { price, sharing: true }))))
  return keys.map((key) => chargeId('ada', key))
}

/** Calls every method of a ledger. */
async function askEverything(ledger: Ledger): Promise<void> {
  for (const round of [1, 2, 3]) {
    const ids = await charged(ledger, `round ${round}`, BATCH)
    const [failing = '', opening = '', ...answering] = ids
    await ledger.recordFailure(failing, 1)
    await ledger.openSession(opening, 1, 'opened', SESSION)
    await Promise.all(answering.map((id) => ledger.recordAnswer(id, 1, `the answer of ${id}`)))
    // Again: retried, answered, shared.
    await charged(ledger, `round ${round}`, BATCH)
    await ledger.charge(question(`round ${round} 9`, { principal: 'bob', sharing: true }))
    const asked = { session: opening, idempotencyKey: 'a', requestHash: 'a' }
    await ledger.sessionQuestion(asked)
    await ledger.recordSessionAnswer({ ...asked, question: 1, request: '{}', above: true, answer: 'yes' })
    await ledger.session(opening)
    await ledger.sessionAnswers(opening, { limit: 10 })
    await ledger.allot({
      dataset: 'census',
      analyst: 'eve',
      granted: loss('1'),
      principal: 'carol',
      reason: 'a',
    })
    await ledger.grant('census', loss('1'), 'carol', 'more')
    await ledger.budget('census')
    await ledger.head('census')
    await ledger.analystSpending('census', 'ada')
    await ledger.entries('census', { limit: 10 })
    await ledger.entries('census', { limit: 10, principal: 'ada', beforeSequence: 500 })
    await ledger.events('census', { limit: 10, afterSequence: 500 })
    await ledger.release(opening)
    await ledger.chargeRecords(ids)
    await ledger.healthy()
  }
}

describeOwnPostgres('plans of PostgreSQL', { settings: LOGS_PLANS }, (own) => {
  /** Finds plan nodes that read too many rows, in a ledger that has many charges when it is opened. */
  async function stepsThatReadMuch(open: OpenLedger) {
    const url = await own.server.createDatabase()
    const before = await open({ url })
    await before.openBudget('census', summed('10'), 'carol')
    await charged(before, 'before', CHARGES_BEFORE)
    await before.close()
    const logged = own.server.log().length
    const ledger = await open({ url })
    await askEverything(ledger)
    await ledger.close()
    const plans = plansIn(own.server.log().slice(logged))
    const steps = plans.flatMap(({ statement, nodes }) =>
      nodes.filter(readsMuch).map((node) => ({ statement, node })),
    )
    return { plans: plans.length, steps }
  }

  test('no statement reads more rows than its calls need, however many there are', async () => {
    const { plans, steps } = await stepsThatReadMuch(openPostgresLedger)
    expect(plans).toBeGreaterThan(500)
    expect(steps).toEqual([])
  })

  const MISTAKES = [
    {
      what: 'looks through all events',
      change: {
        file: 'ledger/postgres/schema.sql',
        find: `(min(sequence) > 1 AND (
        SELECT count(*) FROM sotto.events AS earlier
        WHERE earlier.dataset = added.dataset AND earlier.sequence = min(added.sequence) - 1) = 0)`,
        replace: `(min(sequence) > 1 AND NOT EXISTS (
        SELECT 1 FROM sotto.events AS earlier
        WHERE earlier.dataset = added.dataset AND earlier.sequence = min(added.sequence) - 1))`,
      },
      found: 'SELECT 1 FROM added',
    },
    {
      what: 'reads a table through',
      change: {
        file: 'ledger/postgres/connection.ts',
        find: '  SET enable_seqscan = off;\n',
        replace: '',
      },
      found: 'FROM sotto.budgets',
    },
  ]
  test.each(selectMutants(import.meta.dirname, MISTAKES, ({ change }) => [change]))(
    'a statement that $what is found',
    async ({ change, found }) => {
      await withChangedSource([change], {}, async (load) => {
        const source = await load<{ readonly openPostgresLedger: OpenLedger }>('ledger/postgres/ledger.ts')
        const { steps } = await stepsThatReadMuch(source.openPostgresLedger)
        expect(steps.map(({ statement }) => statement).join()).toContain(found)
      })
    },
  )
})
