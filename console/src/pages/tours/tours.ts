import type { QueryBody } from '../risk/typical-queries.ts'

/** Id of the demo dataset, on which all tours take place. */
export const DEMO = 'census'

export interface TourStep {
  /** Identifies the step within its tour. */
  readonly id: string
  readonly title: string
  /** Advice on what to look at. */
  readonly look: string
  readonly link: { readonly title: string; readonly href: string }
  /** True if the step ends with a question that is charged. */
  readonly paid?: boolean
}

export interface Tour {
  readonly id: string
  readonly title: string
  /** What a person knows afterwards. */
  readonly aim: string
  readonly steps: readonly TourStep[]
}

const OLDER = { column: 'Age', op: '>=', value: 65 } as const

const TABLE = { kind: 'contingency', columns: ['Occupation', 'Sex'] } satisfies QueryBody

function ask(query: QueryBody): TourStep['link'] {
  return {
    title: 'Open the question',
    href: `/datasets/${DEMO}/ask?${parameters({ q: JSON.stringify(query) })}`,
  }
}

function evaluate(query: QueryBody, runs: number): TourStep['link'] {
  return {
    title: 'Open the evaluation',
    href: `/evaluations?${parameters({ dataset: DEMO, q: JSON.stringify(query), runs })}`,
  }
}

function risk(state: Readonly<Record<string, string | number>>): TourStep['link'] {
  return { title: 'Open the risk', href: `/risk?${parameters(state)}` }
}

function parameters(each: Readonly<Record<string, string | number>>): string {
  return new URLSearchParams(
    Object.entries(each).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
}

const LAPLACE_TABLE: QueryBody = {
  ...TABLE,
  mechanism: 'laplace',
  epsilon: 0.5,
  postprocess: { round: true, nonNegative: true },
}

const tableWithNoise: Tour = {
  id: 'table-with-noise',
  title: 'A table with noise',
  aim: 'You see how large the noise in a published table is, and why small cells suffer most.',
  steps: [
    {
      id: 'data',
      title: 'Look at the declared facts',
      look: 'The categories of Occupation and Sex are declared. They do not come from the data, so a cell with nobody in it is published as well.',
      link: { title: 'Open the dataset', href: `/datasets/${DEMO}` },
    },
    {
      id: 'ask',
      title: 'Ask for the table',
      look: 'Each person is in one of the ten cells, so all cells together cost one epsilon of 0.5. Compare the half-width with the size of the cells before you pay.',
      link: ask(LAPLACE_TABLE),
      paid: true,
    },
    {
      id: 'once',
      title: 'Compare one table with the truth',
      look: 'Start the evaluation with one run. The errors have about the same size in every cell. As a share of the truth, they are largest for the unicorn wranglers.',
      link: evaluate(LAPLACE_TABLE, 1),
    },
    {
      id: 'often',
      title: 'Compare a thousand tables with theory',
      look: 'The mean error of a cell is close to 2, which is 1 / epsilon: the expected absolute error of Laplace noise.',
      link: evaluate({ ...TABLE, mechanism: 'laplace', epsilon: 0.5 }, 1_000),
    },
    {
      id: 'fewer',
      title: 'Use fewer people and less epsilon',
      look: 'Only people aged 65 or older, at epsilon 0.05. Some cells are now smaller than their half-width: their values say little.',
      link: evaluate({ ...TABLE, where: OLDER, mechanism: 'laplace', epsilon: 0.05 }, 1_000),
    },
  ],
}

const GEOMETRIC_TABLE: QueryBody = { ...TABLE, mechanism: 'geometric', epsilon: 1 }

const wholeNumbers: Tour = {
  id: 'whole-numbers',
  title: 'Whole numbers without rounding',
  aim: 'You know why counts get geometric noise unless you ask for another.',
  steps: [
    {
      id: 'ask',
      title: 'Ask with geometric noise',
      look: 'The answer consists of whole numbers although nothing is rounded: the noise itself is a whole number.',
      link: ask(GEOMETRIC_TABLE),
      paid: true,
    },
    {
      id: 'evaluate',
      title: 'Measure a thousand tables',
      look: 'The mean total error is close to 10 / sinh(1) = 8.51. No bias differs from 0 by many standard errors. The half-width of 3 holds more often than 95% of the time, because only whole half-widths are possible.',
      link: evaluate(GEOMETRIC_TABLE, 1_000),
    },
    {
      id: 'compare',
      title: 'Compare it with Laplace noise',
      look: 'At epsilon 1 and one statistic, geometric noise has an expected error of 0.851 and Laplace noise of 1. The difference shrinks as epsilon does.',
      link: {
        title: 'Open the comparison',
        href: `/mechanisms?${parameters({ epsilon: 1, statistics: 10, at: 1, measure: 'expectedAbsoluteError' })}`,
      },
    },
  ],
}

const OLDER_COUNT = { kind: 'count', where: OLDER, epsilon: 0.1 } satisfies QueryBody

const gaussianOrLaplace: Tour = {
  id: 'gaussian-or-laplace',
  title: 'Gaussian or Laplace noise',
  aim: 'You can tell which noise is smaller for your workload.',
  steps: [
    {
      id: 'classic',
      title: 'One count with classic Gaussian noise',
      look: 'People aged 65 or older, at epsilon 0.1 and delta 0.0001. The mean error is about 35 people.',
      link: evaluate({ ...OLDER_COUNT, mechanism: 'gaussian', calibration: 'classic', delta: 0.0001 }, 1_000),
    },
    {
      id: 'laplace',
      title: 'The same count with Laplace noise',
      look: 'The mean error is about 10 people, without any delta. For a single number Laplace noise is better.',
      link: evaluate({ ...OLDER_COUNT, mechanism: 'laplace' }, 1_000),
    },
    {
      id: 'analytic',
      title: 'A tighter calibration',
      look: 'The analytic calibration finds the smallest standard deviation that the same epsilon and delta allow. The error is smaller than that of the classic formula.',
      link: evaluate({ ...OLDER_COUNT, mechanism: 'gaussian', delta: 0.0001 }, 1_000),
    },
    {
      id: 'many',
      title: 'Several statistics',
      look: 'Move the point. Laplace noise grows with the number of statistics that one person influences, Gaussian noise with its square root. From 7 statistics on, Gaussian noise is smaller.',
      link: {
        title: 'Open the comparison',
        href: `/mechanisms?${parameters({ epsilon: 1, delta: 0.00001, statistics: 20, at: 7 })}`,
      },
    },
    {
      id: 'ask',
      title: 'Ask with the better noise',
      look: 'Leave the mechanism open in the question: the service then takes the one with the smallest half-width at this price.',
      link: ask(OLDER_COUNT),
      paid: true,
    },
  ],
}

const MOST_COMMON = {
  kind: 'noisyMax',
  candidates: { column: 'Occupation' },
  epsilon: 0.01,
} satisfies QueryBody

const largestGroup: Tour = {
  id: 'largest-group',
  title: 'The largest group',
  aim: 'You know what a noisy maximum reveals, and when it errs.',
  steps: [
    {
      id: 'close',
      title: 'Two groups of almost the same size',
      look: 'There are only 45 more statisticians than economists. At epsilon 0.01 the noise often hides that: the economists win about four times in ten. The other groups never do.',
      link: evaluate({ ...MOST_COMMON, noise: 'laplace' }, 1_000),
    },
    {
      id: 'exponential',
      title: 'Less noise at the same price',
      look: 'Exponential noise, the default, selects the larger group more often than Laplace noise: about 68% against 61%.',
      link: evaluate(MOST_COMMON, 1_000),
    },
    {
      id: 'larger',
      title: 'Ten times the epsilon',
      look: 'At epsilon 0.1 the larger group wins almost always.',
      link: evaluate({ ...MOST_COMMON, epsilon: 0.1 }, 1_000),
    },
    {
      id: 'ask',
      title: 'Ask for the most common occupation',
      look: 'The answer is a name. It contains no count, and it says within how many rows the selected group is of the largest.',
      link: ask({ ...MOST_COMMON, epsilon: 0.1 }),
      paid: true,
    },
  ],
}

const SCHOOL_RISK = { adversary: 'universe', risk: 0.333333 } as const

const chooseEpsilon: Tour = {
  id: 'choose-epsilon',
  title: 'From an accepted risk to an epsilon',
  aim: 'You can defend an epsilon by the risk that it means for a person.',
  steps: [
    {
      id: 'belief',
      title: 'What an adversary believes',
      look: 'A school releases data about three of its four pupils. The adversary knows the values of all four. After the answer 2.20131 at epsilon 2, the belief that the pupil with ten days of absence is missing rises from 25% to 61.8%.',
      link: risk({ ...SCHOOL_RISK, epsilon: 2, response: '2.20131' }),
    },
    {
      id: 'accept',
      title: 'Accept a risk of one in three',
      look: 'For the days of absence the largest epsilon is 0.3829 by the upper bound and 0.4317 by the tight bound; for the school years 0.3378 and 0.5251. The tight bound examines every possible dataset and permits more.',
      link: risk(SCHOOL_RISK),
    },
    {
      id: 'statistic',
      title: 'Another statistic, another epsilon',
      look: 'For the days of absence the median permits epsilon 2.7725. Its noise is calibrated to a sensitivity of 4, but the medians of the possible worlds differ by at most 1: open the details below the charts.',
      link: risk({ ...SCHOOL_RISK, kind: 'median' }),
    },
    {
      id: 'people',
      title: 'Your own data',
      look: 'For a dataset you seldom know everybody who may be in it. Assume four candidates for a person and the same risk. Below the curve you see what the epsilon means for the accuracy of typical questions.',
      link: risk({ dataset: DEMO, candidates: 4, risk: 0.333333 }),
    },
    {
      id: 'ask',
      title: 'Pay for an answer',
      look: 'At epsilon 0.3 an adversary with four candidates guesses right at most 31.1% of the time; this page assumes two candidates, which gives 57.5%. The half-width of the count is 10. The price is on the button. A repeat is free.',
      link: ask({ ...OLDER_COUNT, epsilon: 0.3 }),
      paid: true,
    },
  ],
}

/** Tours in the order in which they build on each other. */
export const TOURS: readonly Tour[] = [
  tableWithNoise,
  wholeNumbers,
  gaussianOrLaplace,
  largestGroup,
  chooseEpsilon,
]
