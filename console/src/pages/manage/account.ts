import { at, requests } from '../../api/api.ts'
import type { Schemas } from '../../api/schemas.ts'

type Amount = Required<Schemas['GrantRequest']>

/** Whose budget it is. */
export interface Account {
  readonly kind: 'dataset' | 'population'
  readonly id: string
}

/** Acts of custodians on a budget. */
interface Acts {
  grant(body: Amount): Promise<unknown>
  allot(analyst: string, body: Amount): Promise<unknown>
  unallot(analyst: string): Promise<unknown>
}

/** Returns the acts on the budget of a dataset or of a population. */
export function actsOn({ kind, id }: Account): Acts {
  switch (kind) {
    case 'dataset':
      return {
        grant: (body) => requests.POST('/v1/datasets/{dataset}/grants', { ...at({ dataset: id }), body }),
        allot: (analyst, body) =>
          requests.PUT('/v1/datasets/{dataset}/analysts/{analyst}/allotment', {
            ...at({ dataset: id, analyst }),
            body,
          }),
        unallot: (analyst) =>
          requests.DELETE(
            '/v1/datasets/{dataset}/analysts/{analyst}/allotment',
            at({ dataset: id, analyst }),
          ),
      }
    case 'population':
      return {
        grant: (body) =>
          requests.POST('/v1/populations/{population}/grants', { ...at({ population: id }), body }),
        allot: (analyst, body) =>
          requests.PUT('/v1/populations/{population}/analysts/{analyst}/allotment', {
            ...at({ population: id, analyst }),
            body,
          }),
        unallot: (analyst) =>
          requests.DELETE(
            '/v1/populations/{population}/analysts/{analyst}/allotment',
            at({ population: id, analyst }),
          ),
      }
  }
}
