import { Field } from '../../components/field.tsx'
import styles from './risk.module.css'
import type { RiskPart } from './risk-page.tsx'
import { KINDS, OPERATORS } from './risk-state.ts'

/** The statistic that is released, with its options. */
export function StatisticField({ state, change }: RiskPart) {
  return (
    <>
      <Field label="Statistic">
        {(attributes) => (
          <select
            {...attributes}
            value={state.kind}
            onChange={(event) =>
              change({ kind: KINDS.find((kind) => kind === event.target.value) ?? state.kind, epsilon: 0 })
            }
          >
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {kind === 'standardDeviation' ? 'standard deviation' : kind}
              </option>
            ))}
          </select>
        )}
      </Field>
      {state.kind === 'percentile' && (
        <Field label="Percentage">
          {(attributes) => (
            <input
              {...attributes}
              type="number"
              min={0}
              max={100}
              value={state.percentile}
              onChange={(event) => change({ percentile: Number(event.target.value), epsilon: 0 })}
            />
          )}
        </Field>
      )}
      {state.kind === 'count' && (
        <div className={styles.pair}>
          <Field label="Values">
            {(attributes) => (
              <select
                {...attributes}
                value={state.operator}
                onChange={(event) =>
                  change({
                    operator: OPERATORS.find((each) => each === event.target.value) ?? state.operator,
                    epsilon: 0,
                  })
                }
              >
                {OPERATORS.map((operator) => (
                  <option key={operator}>{operator}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Number">
            {(attributes) => (
              <input
                {...attributes}
                type="number"
                value={state.than}
                onChange={(event) => change({ than: Number(event.target.value), epsilon: 0 })}
              />
            )}
          </Field>
        </div>
      )}
    </>
  )
}
