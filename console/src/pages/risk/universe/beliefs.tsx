import { keepPreviousData } from '@tanstack/react-query'
import { api } from '../../../api/api.ts'
import type { Schemas } from '../../../api/schemas.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { useSettled } from '../../../components/forms/use-debounced.ts'
import { Section } from '../../../components/layout/page.tsx'
import { ProblemNotice } from '../../../components/notices/notices.tsx'
import { Table } from '../../../components/tables/tables.tsx'
import { formatEstimate, formatExact, formatShare } from '../../../format/number.ts'
import styles from '../risk.module.css'
import type { RiskPart } from '../risk-state.ts'
import type { EpsilonRequest } from './universe.ts'

/** Beliefs of the adversary after a noisy answer. */
export function Beliefs({
  state,
  change,
  request,
  epsilon,
}: RiskPart & { readonly request: EpsilonRequest; readonly epsilon: number }) {
  const settled = useSettled({ response: state.response, epsilon })
  const response = Number(settled.response)
  const given = settled.response.trim() !== '' && Number.isFinite(response)
  const { universe, released, query, changed } = request
  const { data, error } = api.useQuery(
    'post',
    '/v1/risk',
    {
      body: {
        universe,
        released,
        query,
        ...(changed === undefined ? {} : { changed }),
        epsilon: settled.epsilon,
        response,
      },
    },
    { enabled: given, placeholderData: keepPreviousData },
  )
  return (
    <Section
      title="After an answer"
      lead="A noisy answer changes what the adversary believes about each possible world: each set of people who may be in the data."
    >
      <div className={styles.fields}>
        <TextField
          label="Noisy answer"
          hint={`Drawn with epsilon ${formatExact(epsilon)}, for example 2.20131.`}
          inputMode="decimal"
          value={state.response}
          onChange={(response) => change({ response })}
        />
      </div>
      {error !== null && <ProblemNotice error={error} />}
      {given && data !== undefined && (
        <div className={styles.charts}>
          {data.columns.map(({ column, posterior }) => (
            <div key={column}>
              <h3>{column}</h3>
              {posterior !== undefined && (
                <Posterior posterior={posterior} people={peopleOf(universe, column)} />
              )}
            </div>
          ))}
        </div>
      )}
    </Section>
  )
}

/** Worlds that are listed, most likely first. */
const LISTED_WORLDS = 12

function peopleOf(universe: EpsilonRequest['universe'], column: string): readonly string[] {
  return (universe[column] ?? []).map((value) =>
    typeof value === 'number' ? String(value) : `(${value.join(' ')})`,
  )
}

interface PosteriorProps {
  readonly posterior: NonNullable<Schemas['RiskReport']['columns'][number]['posterior']>
  readonly people: readonly string[]
}

function Posterior({ posterior: { largest, confidence, worlds }, people }: PosteriorProps) {
  const likely = worlds?.toSorted((one, other) => other.posterior - one.posterior).slice(0, LISTED_WORLDS)
  return (
    <>
      <p>
        Disclosure risk <strong>{formatShare(largest)}</strong>, {formatShare(confidence)} more than before
        the answer.
      </p>
      {likely !== undefined && (
        <Table
          label="Possible worlds, most likely first"
          rows={likely}
          keyOf={({ positions }) => positions.join(' ')}
          columns={[
            ['Values in the data', ({ positions }) => positions.map((each) => people[each]).join(', ')],
            ['True answer', ({ answer }) => formatEstimate(answer), 'right'],
            ['Before', ({ prior }) => formatShare(prior), 'right'],
            [
              'After',
              ({ posterior }) => (
                <span className={styles.belief}>
                  <span style={{ width: `${100 * posterior}%` }} />
                  {formatShare(posterior)}
                </span>
              ),
              'right',
            ],
          ]}
        />
      )}
    </>
  )
}
