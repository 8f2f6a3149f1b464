import type { Schemas } from '../../../api/schemas.ts'
import { leftOf, sizeOf } from '../../../format/amount.ts'
import { fieldValue, type Question, withField } from '../question/question.ts'

type Preview = Schemas['Preview']

/** A way to an answer: from paid answers alone, with what they lack, or with noise of its own. */
export type Use = NonNullable<Schemas['CountQuery']['use']>

/** The question whose preview states all ways, each of which then needs no preview of its own. */
export function previewedQuestion(question: Question): Question {
  return fieldValue(question, 'use') === 'fresh' ? question : withField(question, 'use', undefined)
}

/** Returns the way that a question takes. Without a choice, paid answers are used if they are as accurate as it asks for. */
export function chosenUse(question: Question, { noise }: Pick<Preview, 'noise'>): Use {
  return (
    (fieldValue(question, 'use') as Use | undefined) ?? (noise.mechanism === 'combined' ? 'free' : 'fresh')
  )
}

/** Returns a question that takes a way. */
export function withUse(question: Question, use: Use): Question {
  // Without an accuracy, an answer is fresh unless another way is chosen.
  return withField(question, 'use', use === 'fresh' && question.accuracy === undefined ? undefined : use)
}

/** True for a question that asks for what does not follow, such as after a change of its condition. */
export function isImpossible(question: Question, { offers }: Pick<Preview, 'offers'>): boolean {
  const use = fieldValue(question, 'use')
  if (use === 'topUp' && offers.topUp !== undefined && 'reason' in offers.topUp) return true
  return 'reason' in offers.free && ['free', 'topUp'].includes(String(use))
}

/** Returns the price and the accuracy of a way. */
export function previewOf(preview: Preview, use: Use): Preview {
  const { offers, budget, allotment, population, price } = preview
  if ('reason' in offers.free) return preview
  switch (use) {
    case 'free': {
      const { accuracy } = offers.free
      const noise = { mechanism: 'combined', neighbours: preview.noise.neighbours } as const
      return { ...preview, accuracy, noise, cost: nothingOf(price), affordable: true, paid: false }
    }
    case 'topUp': {
      const cost = offers.topUp !== undefined && 'price' in offers.topUp ? offers.topUp.price : price
      const left = leftOf({ ...budget, allotment }, population)
      return { ...preview, cost, affordable: sizeOf(cost) <= sizeOf(left), paid: false }
    }
    case 'fresh':
      return preview
  }
}

function nothingOf(price: Preview['price']): Preview['price'] {
  return 'rho' in price ? { rho: 0 } : { epsilon: 0, delta: 0 }
}
