import type { Catalog } from '../../datasets/catalog/catalog.ts'
import { mayUse, type Principal } from '../../http/access/principal.ts'
import { type CatalogueRows, type Evaluator, openEvaluator, type Variables } from './evaluator.ts'
import { functionStatements } from './functions.ts'
import { catalogueStatements } from './relations.ts'

/** Who asks, and in which session. */
export interface CatalogueCaller extends Omit<Variables, 'principal'> {
  readonly principal: Principal
}

/** Evaluators of the catalogue, one for each set of datasets that a principal may use. */
export interface Catalogues {
  evaluate(caller: CatalogueCaller, sql: string, givenUp: AbortSignal): Promise<CatalogueRows>
  /** Describes the columns of a statement. */
  describe(principal: Principal, sql: string, givenUp: AbortSignal): Promise<CatalogueRows['columns']>
  close(): Promise<void>
}

/** Number of evaluators that are kept. Most principals may use the same datasets. */
const MOST_EVALUATORS = 8

/** Opens the catalogue. An evaluator holds the declarations of the datasets that its principals may use, and no others. */
export function openCatalogues(catalog: Pick<Catalog, 'list'>): Catalogues {
  const evaluators = new Map<string, Promise<Evaluator>>()
  const evaluatorOf = (principal: Principal): Promise<Evaluator> => {
    const entries = catalog.list().filter(({ dataset }) => mayUse(principal, dataset.id))
    const facts = entries.map(({ dataset: { id, version, title }, registeredAt }) => [
      id,
      version,
      title,
      registeredAt,
    ])
    const key = JSON.stringify(facts)
    const known =
      evaluators.get(key) ?? openEvaluator([...catalogueStatements(entries), ...functionStatements()])
    // The next statement tries again.
    known.catch(() => evaluators.delete(key))
    evaluators.delete(key)
    evaluators.set(key, known)
    const [oldest] = evaluators
    if (evaluators.size > MOST_EVALUATORS && oldest !== undefined) {
      evaluators.delete(oldest[0])
      // One that was not opened is reported to those who wait for it.
      oldest[1].then((evaluator) => evaluator.close()).catch(() => undefined)
    }
    return known
  }
  return {
    async evaluate({ principal, ...session }, sql, givenUp) {
      const evaluator = await evaluatorOf(principal)
      return evaluator.evaluate(sql, { ...session, principal: principal.name }, givenUp)
    },
    describe: async (principal, sql, givenUp) =>
      (await evaluatorOf(principal)).describe(sql, principal.name, givenUp),
    async close() {
      for (const each of evaluators.values()) await (await each).close()
    },
  }
}
