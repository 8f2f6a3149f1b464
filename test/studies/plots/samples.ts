import { deltaAtto, epsilonNano } from '../../../src/privacy/loss.ts'
import { type Criterion, compareMechanisms } from '../../../src/studies/plots/compare.ts'
import type {
  AnswerDistributionPlot,
  NoiseComparisonPlot,
  NoisyTablePlot,
  Plot,
  RiskPanel,
  RiskPlot,
} from '../../../src/studies/plots/plot.ts'

/**
 * Lee and Clifton 2011: a mean over 3 of 4 people. The epsilons and sensitivities are known answers; the curves
 * follow their formulas.
 */
const COLUMNS = {
  school_year: {
    universe: [1, 2, 3, 4],
    bounded: 1,
    unbounded: 0.8333333333333334,
    epsilons: [0.3378875900901369, 0.5251496872695],
  },
  absence_days: {
    universe: [1, 2, 3, 10],
    bounded: 3,
    unbounded: 2.8333333333333335,
    epsilons: [0.38293926876882173, 0.4317201195672],
  },
} as const

export const RISK = 1 / 3

export function panelOf(name: keyof typeof COLUMNS, farthest = 2): RiskPanel {
  const { universe, bounded, unbounded, epsilons } = COLUMNS[name]
  const sum = universe.reduce<number>((total, value) => total + value, 0)
  const answers = universe.map((left) => (sum - left) / 3)
  const tight = (epsilon: number) =>
    Math.max(
      ...answers.map(
        (answer) =>
          1 /
          answers.reduce(
            (total, other) => total + Math.exp((-epsilon * Math.abs(answer - other)) / unbounded),
            0,
          ),
      ),
    )
  const curve = Array.from({ length: 101 }, (_, index) => {
    const epsilon = (farthest * index) / 100
    return {
      epsilon,
      upperBound: 1 / (1 + 3 * Math.exp((-epsilon * bounded) / unbounded)),
      tightBound: tight(epsilon),
    }
  })
  return {
    name,
    curve,
    largestPrior: 0.25,
    upperBoundEpsilon: epsilons[0],
    tightBoundEpsilon: epsilons[1],
    upperBoundHolds: true,
  }
}

export const riskPlot: RiskPlot = {
  plot: 'risk',
  query: 'mean',
  risk: RISK,
  panels: [panelOf('absence_days')],
}

/** Each panel of a plot with both bounds at an epsilon. */
function stating(epsilon: number, plot: RiskPlot): RiskPlot {
  const stated = { epsilon, tightBound: 0.3292, upperBound: 0.3629 }
  return { ...plot, panels: plot.panels.map((panel) => ({ ...panel, stated })) }
}

export const riskPanelsPlot: RiskPlot = {
  plot: 'risk',
  query: 'mean',
  risk: RISK,
  panels: [
    panelOf('school_year'),
    panelOf('absence_days', 8),
    { ...panelOf('school_year', 6), name: 'grade', tightBoundEpsilon: null, upperBoundHolds: false },
  ],
}

export function comparisonPlot(
  statistics: number,
  criterion: Criterion = 'standardDeviation',
): NoiseComparisonPlot {
  const { rows, crossings } = compareMechanisms({
    loss: { epsilonNano: epsilonNano(1_000_000_000n), deltaAtto: deltaAtto(10_000_000_000_000n) },
    statistics,
    contribution: 1n,
    fractionDigits: 0,
    wholeNumbers: true,
    confidence: 0.95,
  })
  return {
    plot: 'noise-comparison',
    epsilon: 1,
    delta: 1e-5,
    criterion,
    confidence: 0.95,
    rows: rows.map((row) => ({
      statistics: row.statistics,
      noise: Object.fromEntries(Object.entries(row.noise).map(([name, noise]) => [name, noise[criterion]])),
    })),
    crossings: crossings.flatMap(({ mechanism, against, [criterion]: from }) =>
      from === null ? [] : [{ mechanism, against, from }],
    ),
  }
}

/** Geometric noise at epsilon 0.5: P(k) = tanh(1/4) exp(-|k| / 2). */
export const distributionPlot: AnswerDistributionPlot = {
  plot: 'answer-distribution',
  mechanism: 'geometric',
  epsilon: 0.5,
  delta: 0,
  truth: 120,
  points: Array.from({ length: 31 }, (_, index) => ({
    value: 105 + index,
    probability: Math.tanh(1 / 4) * Math.exp(-Math.abs(index - 15) / 2),
  })),
  discrete: true,
  halfWidth: 6,
  confidence: 0.95,
}

/** Density of a normal distribution of standard deviation 3730.6. */
export const densityPlot: AnswerDistributionPlot = {
  plot: 'answer-distribution',
  mechanism: 'analytic-gaussian',
  epsilon: 1,
  delta: 1e-5,
  truth: 1_250_000,
  points: Array.from({ length: 201 }, (_, index) => {
    const deviations = (index - 100) / 25
    return {
      value: 1_250_000 + deviations * 3730.6,
      probability: Math.exp(-(deviations ** 2) / 2) / (3730.6 * Math.sqrt(2 * Math.PI)),
    }
  }),
  discrete: false,
  halfWidth: 7311.9,
  confidence: 0.95,
}

/** Around a truth at which a double has few fractional digits left. */
export const farPlot: AnswerDistributionPlot = {
  ...distributionPlot,
  truth: 1e15,
  points: distributionPlot.points.map(({ value, probability }) => ({
    value: 1e15 - 120 + value,
    probability,
  })),
}

/** Laplace noise at epsilon 1e-9, around a truth that is much smaller. */
export const dwarfedPlot: AnswerDistributionPlot = {
  ...densityPlot,
  mechanism: 'laplace',
  epsilon: 1e-9,
  delta: 0,
  truth: 1,
  points: Array.from({ length: 201 }, (_, index) => {
    const scales = (index - 100) / 20
    return { value: 1 + scales * 1e9, probability: Math.exp(-Math.abs(scales)) / 2e9 }
  }),
  halfWidth: 1e9 * Math.log(1e7),
  confidence: 0.9999999,
}

/** Not in alphabetical order, so that a plot shows whether it keeps the given order. */
const OCCUPATIONS = ['Sales', 'Adm-clerical', 'Exec-managerial', 'Prof-specialty', 'Machine-op-inspct']
const SEXES = ['Male', 'Female']
const TRUTHS = [
  [2387, 1263],
  [1233, 2537],
  [2907, 1159],
  [2625, 1515],
  [1452, 550],
]
const NOISES = [
  [1, -3],
  [-4, 3],
  [0, -1],
  [5, 2],
  [-6, 9],
]

/** Cells of a table of 5 by 2, with noise far above the usual, so that it is visible. */
export const tablePlot: NoisyTablePlot = {
  plot: 'noisy-table',
  title: 'People by occupation and sex',
  keys: ['Occupation', 'Sex'],
  unit: 'rows',
  confidence: 0.95,
  cells: OCCUPATIONS.flatMap((occupation, row) =>
    SEXES.map((sex, column) => {
      const truth = TRUTHS[row]?.[column] ?? 0
      return {
        key: [occupation, sex],
        value: truth + 25 * (NOISES[row]?.[column] ?? 0),
        halfWidth: 150,
        truth,
      }
    }),
  ),
}

/** The largest number of cells, with a second key that has too many values for colours. */
export const fullTablePlot: NoisyTablePlot = {
  plot: 'noisy-table',
  title: 'Sixty cells',
  keys: ['Region', 'Age group'],
  confidence: 0.9,
  cells: Array.from({ length: 60 }, (_, index) => ({
    key: [`Region ${1 + Math.floor(index / 12)}`, `${(index % 12) * 5} to ${(index % 12) * 5 + 4}`],
    value: 3 + ((index * 37) % 41) / 2,
    halfWidth: index % 7 === 0 ? null : 2.5,
  })),
}

/** Unusual names of columns and categories. */
export const HOSTILE = [
  '<script>alert(1)</script>',
  '"quotes" & \'apostrophes\' ]]> --> <!--',
  'two\nlines\r\nand\ttabs\u0000\u0007',
  'a.b[0]["c"]',
  "datum.value + data('source_0')",
  `${'very long '.repeat(200)}name`,
  `${'very long '.repeat(200)}other name`,
  'emoji 👩‍👩‍👧‍👦 and 🇪🇺',
  'lone \ud800 surrogate \uffff and \u202eturned',
  `z${'\u0323\u0301'.repeat(50)}algo`,
  '',
  '__proto__',
  '你好世界'.repeat(30),
  '{"expr": "1"}',
] as const

export const hostilePlots: readonly Plot[] = [
  {
    ...riskPlot,
    query: HOSTILE[0],
    panels: HOSTILE.slice(0, 12).map((name) => ({ ...panelOf('school_year'), name })),
  },
  {
    ...tablePlot,
    title: HOSTILE[2],
    unit: HOSTILE[3],
    keys: [HOSTILE[3], HOSTILE[4]],
    cells: HOSTILE.slice(0, 9).flatMap((name) =>
      HOSTILE.slice(4, 10).map((other, index) => ({
        key: [name, other],
        value: index * 10 + name.length / 100,
        halfWidth: 4,
        truth: index * 10,
      })),
    ),
  },
  {
    ...tablePlot,
    title: HOSTILE[5],
    keys: [HOSTILE[0], HOSTILE[5], HOSTILE[7]],
    cells: HOSTILE.map((name, index) => ({
      key: [HOSTILE[index % 3] ?? '', name, HOSTILE[5]],
      value: index * 10,
      halfWidth: 4,
    })),
  },
]

/** All samples by name. */
export const samples: Readonly<Record<string, Plot>> = {
  'risk of one column': riskPlot,
  'risk of several columns': riskPanelsPlot,
  'risk of several columns at a stated epsilon': stating(0.5, riskPanelsPlot),
  'risk at a stated epsilon beyond the curve': stating(25, riskPlot),
  'noise of 20 statistics': comparisonPlot(20),
  'half-width for 120 statistics': comparisonPlot(120, 'halfWidth'),
  'crossings apart': {
    ...comparisonPlot(20, 'expectedAbsoluteError'),
    crossings: [
      { mechanism: 'analytic-gaussian', against: 'geometric', from: 9 },
      { mechanism: 'analytic-gaussian', against: 'laplace', from: 8 },
      { mechanism: 'classic-gaussian', against: 'geometric', from: 15 },
      { mechanism: 'classic-gaussian', against: 'laplace', from: 14 },
    ],
  },
  'distribution of whole numbers': distributionPlot,
  'a distribution of too many whole numbers for bars': {
    ...distributionPlot,
    epsilon: 0.01,
    points: Array.from({ length: 1001 }, (_, index) => ({
      value: index - 380,
      probability: Math.tanh(0.005) * Math.exp(-Math.abs(index - 500) / 100),
    })),
    halfWidth: 300,
  },
  'distribution on a fine grid': densityPlot,
  'a truth far larger than its noise': farPlot,
  'a truth far smaller than its noise': dwarfedPlot,
  'table of 5 by 2': tablePlot,
  'table of 60 cells': fullTablePlot,
  ...Object.fromEntries(hostilePlots.map((plot, index) => [`hostile texts ${index + 1}`, plot])),
}
