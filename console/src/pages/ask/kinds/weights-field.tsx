import { Checkbox } from '../../../components/forms/fields.tsx'
import styles from '../ask.module.css'
import { NumberInputField, TextList } from '../fields.tsx'
import { withField } from '../question/question.ts'
import type { FieldPart } from './field-part.ts'
import { tablesAsked } from './weights.ts'

/** Weights of the tables of a question of marginals, in place of its objective: a number for each, or a list for many. */
export function WeightsField({ label, field, value, asked, onChange, onAsked }: FieldPart<'weights'>) {
  const tables = tablesAsked(asked)
  const weigh = (weights: readonly (string | number)[]) =>
    onAsked({ ...withField(asked, 'objective', undefined), weights })
  const weights = [value ?? []].flat()
  if (tables.length === 0)
    return (
      <TextList
        label={label}
        hint={field.hint}
        items={weights}
        onChange={(items) => (items.length === 0 ? onChange(undefined) : weigh(items))}
      />
    )
  return (
    <>
      <Checkbox
        label={label}
        hint={field.hint}
        value={value !== undefined}
        onChange={(checked) => (checked ? weigh(tables.map(() => 1)) : onChange(undefined))}
      />
      {value !== undefined && (
        <div className={styles.test}>
          {tables.map((columns, place) => (
            <NumberInputField
              key={columns.join()}
              label={columns.join(' and ')}
              min={0}
              value={weights[place]}
              onChange={(weight) => weight !== undefined && weigh(weights.with(place, weight))}
            />
          ))}
        </div>
      )}
    </>
  )
}
