import type { Dataset } from '../../../core/dataset/dataset.ts'
import { defined } from '../../../privacy/defined.ts'
import { entry } from '../../../privacy/must.ts'
import { nameOf, UNNAMED } from '../parsing/expressions.ts'
import type { Target } from '../parsing/statement.ts'
import type { ResultColumn, Shape } from './result.ts'
import { halfWidthUnit, isWhole, type StatedNoise } from './result-types.ts'
import { isNoisy, type Slot } from './row-values.ts'

/** A column of the SELECT list, and its value. */
export interface Output {
  readonly target: Target
  readonly slot: Slot
}

/** Names and types of the columns of the rows. The half-width of a value is in the column after it. */
export function columnsOf(
  dataset: Dataset,
  stated: readonly StatedNoise[],
  outputs: readonly Output[],
  { groupings, measures, queries }: Shape,
): readonly ResultColumn[] {
  const taken = new Set<string>()
  const unique = (wanted: string): string => {
    let name = wanted
    for (let copy = 2; taken.has(name); copy += 1) name = `${wanted}_${copy}`
    taken.add(name)
    return name
  }
  return outputs.flatMap(({ target, slot }): readonly ResultColumn[] => {
    const { expression, alias } = target
    const ownName = nameOf(target) ?? UNNAMED
    if (!isNoisy(slot)) {
      const isKeyColumn = 'key' in slot && alias === undefined && expression.kind === 'column'
      const name = isKeyColumn ? entry(groupings, slot.key).name : ownName
      return [{ name: unique(name), type: slot.type }]
    }
    const name = unique(ownName)
    if (!('measure' in slot)) {
      const halfWidthColumn = unique(`${name}_half_width`)
      return [
        { name, type: slot.type, halfWidthColumn },
        { name: halfWidthColumn, type: 'number' },
      ]
    }
    const measure = entry(measures, slot.measure)
    const query = queries.findIndex(({ computes }) => computes.some((each) => each.measure === slot.measure))
    const type = isWhole(measure, dataset, entry(stated, query)) ? 'integer' : slot.type
    const unit = halfWidthUnit(measure, slot.type)
    // Beside a value, a number of rows would be taken for one in the unit of the value.
    const halfWidthColumn = unique(`${name}${unit === 'rows' ? '_rank' : ''}_half_width`)
    return [{ name, type, halfWidthColumn }, defined({ name: halfWidthColumn, type: 'number', unit })]
  })
}
