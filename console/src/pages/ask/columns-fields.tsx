import styles from './ask.module.css'
import { factorColumns } from './kinds.ts'
import type { QuestionPart } from './question-form.tsx'
import { SelectColumn } from './select-column.tsx'

/** The two different columns of a covariance or correlation. */
export function PairFields({ dataset, question, onChange }: QuestionPart) {
  const columns = Array.isArray(question.columns) ? question.columns : []
  const [first, second] = columns
  // A column that is chosen twice changes its place with the other.
  const choose = (place: number, column: string) => {
    if (place === 0) return [column, column === second ? first : second]
    return [column === first ? second : first, column]
  }
  return [0, 1].map((place) => (
    <SelectColumn
      key={place}
      label={place === 0 ? 'First column' : 'Second column'}
      columns={factorColumns(dataset)}
      value={columns[place]}
      onChange={(column) => onChange({ ...question, columns: choose(place, column) })}
    />
  ))
}

/** Columns that explain the outcome of a regression. */
export function PredictorFields({ dataset, question, onChange }: QuestionPart) {
  const chosen = Array.isArray(question.predictors) ? question.predictors : []
  const toggle = (name: string, isChosen: boolean) => {
    const predictors = isChosen ? [...chosen, name] : chosen.filter((each) => each !== name)
    // A regression needs a column that explains.
    if (predictors.length > 0) onChange({ ...question, predictors })
  }
  return (
    <fieldset className={styles.categories}>
      <legend>Explained by</legend>
      {factorColumns(dataset)
        .filter(({ name }) => name !== question.outcome)
        .map(({ name }) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) => toggle(name, event.target.checked)}
            />
            <bdi>{name}</bdi>
          </label>
        ))}
    </fieldset>
  )
}
