// Generated from schemas/answers/query.ts and src/core/planner/kinds by `npm run generate`. Do not edit.

import type { Kind, KindEntry } from '../../../clients/kind-entry.ts'

/** Kinds of questions, in the order in which they are offered. */
export const KINDS: Readonly<Record<Kind, KindEntry>> = {
  count: {
    title: 'Count',
    phrase: 'count of {of}',
    fields: {
      of: {
        type: 'counted',
        title: 'Count',
        hint: 'One person moves a count of people by 1, whatever the number of rows.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
    statistic: {
      of: {
        type: 'counted',
        title: 'Count',
        hint: 'One person moves a count of people by 1, whatever the number of rows.',
        optional: true,
      },
    },
  },
  histogram: {
    title: 'Counts by a column',
    phrase: '{of} by {column}',
    grouped: true,
    fields: {
      column: {
        type: 'grouping',
        title: 'By',
        columns: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean'] },
      },
      of: {
        type: 'counted',
        title: 'Count',
        hint: 'One person moves a count of people by 1, whatever the number of rows.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
  },
  bounds: {
    title: 'Bounds for a clamp',
    phrase: 'bounds of {column}',
    grouped: true,
    fields: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      nextEpsilon: {
        type: 'number',
        title: 'Epsilon of the next question',
        hint: 'What the answer recommends is weighed for this epsilon. By default, that of this question.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
  },
  contingency: {
    title: 'Counts by several columns',
    phrase: '{of} by {columns}',
    grouped: true,
    fields: {
      columns: {
        type: 'groupings',
        title: 'Columns',
        columns: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean'] },
        least: 2,
        most: 8,
      },
      of: {
        type: 'counted',
        title: 'Count',
        hint: 'One person moves a count of people by 1, whatever the number of rows.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
  },
  marginals: {
    title: 'Counts by every few of several columns',
    phrase: 'counts by {ways} of {columns}',
    fields: {
      columns: {
        type: 'groupings',
        title: 'Columns',
        columns: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean'] },
        least: 2,
        most: 30,
      },
      ways: {
        type: 'percentages',
        title: 'Columns of each table',
        hint: '2: every pair of columns. 1, 2: each column, and every pair.',
        initial: 2,
      },
      objective: {
        type: 'choice',
        title: 'Smallest',
        hint: 'The error of all cells together, or that of the worst cell.',
        optional: true,
        choices: ['total', 'largest'],
      },
      weights: {
        type: 'percentages',
        title: 'Weights',
        hint: 'One for each table, in the order of the answer. A table of larger weight has a smaller error.',
        optional: true,
      },
      rho: {
        type: 'number',
        title: 'Rho',
        hint: 'In place of an epsilon, where the budget is counted in rho.',
        optional: true,
      },
      delta: {
        type: 'number',
        title: 'Delta',
        hint: 'Above 0 with an epsilon: Gaussian noise, which many tables share better.',
        optional: true,
        default: 0,
        least: 0,
        most: 1,
      },
    },
    terms: ['epsilon', 'accuracy', 'contribution'],
  },
  groupBy: {
    title: 'Statistics by group',
    phrase: '{statistics}[ by {keys}]',
    grouped: true,
    fields: {
      keys: {
        type: 'groupings',
        title: 'Keys',
        columns: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean'] },
        least: 0,
        most: 8,
      },
      statistics: { type: 'statistics', title: 'Statistics', least: 1, most: 8 },
    },
    terms: [
      'epsilon',
      'accuracy',
      'mechanism',
      'calibration',
      'delta',
      'contribution',
      'use',
      'supposed',
      'postprocess',
    ],
  },
  mean: {
    title: 'Mean',
    phrase: 'mean of {column}',
    clamps: 'always',
    aggregate: 'AVG',
    fields: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      perPerson: {
        type: 'perPerson',
        title: 'Values',
        optional: true,
        personColumns: {
          sum: { types: ['integer', 'number'] },
          count: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean', 'string'] },
          mean: { types: ['integer', 'number'] },
        },
      },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: [
      'epsilon',
      'accuracy',
      'mechanism',
      'calibration',
      'delta',
      'contribution',
      'use',
      'supposed',
      'postprocess',
    ],
    statistic: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      perPerson: {
        type: 'perPerson',
        title: 'Values',
        optional: true,
        personColumns: {
          sum: { types: ['integer', 'number'] },
          count: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean', 'string'] },
          mean: { types: ['integer', 'number'] },
        },
      },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
  },
  sum: {
    title: 'Sum',
    phrase: 'sum of {column}',
    clamps: 'always',
    aggregate: 'SUM',
    fields: {
      column: { type: 'column', title: 'Column', columns: { types: ['integer', 'number'] } },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
    statistic: {
      column: { type: 'column', title: 'Column', columns: { types: ['integer', 'number'] } },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
  },
  median: {
    title: 'Median',
    phrase: 'median of {column}',
    clamps: 'perPerson',
    fields: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      perPerson: {
        type: 'perPerson',
        title: 'Values',
        optional: true,
        personColumns: {
          sum: { types: ['integer', 'number'] },
          count: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean', 'string'] },
          mean: { types: ['integer', 'number'] },
        },
      },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'contribution'],
    statistic: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
  },
  percentile: {
    title: 'Percentiles',
    phrase: '{p} of {column}',
    clamps: 'perPerson',
    fields: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      p: { type: 'percentages', title: 'Percentages', hint: '50 is the median.', initial: [25, 50, 75] },
      perPerson: {
        type: 'perPerson',
        title: 'Values',
        optional: true,
        personColumns: {
          sum: { types: ['integer', 'number'] },
          count: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean', 'string'] },
          mean: { types: ['integer', 'number'] },
        },
      },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'contribution'],
    statistic: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      p: { type: 'number', title: 'Percentage', initial: 90, least: 0, most: 100 },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
  },
  minimum: {
    title: 'Minimum (an extreme quantile)',
    phrase: 'minimum of {column}',
    clamps: 'perPerson',
    aggregate: 'MIN',
    fields: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      perPerson: {
        type: 'perPerson',
        title: 'Values',
        optional: true,
        personColumns: {
          sum: { types: ['integer', 'number'] },
          count: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean', 'string'] },
          mean: { types: ['integer', 'number'] },
        },
      },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'contribution'],
  },
  maximum: {
    title: 'Maximum (an extreme quantile)',
    phrase: 'maximum of {column}',
    clamps: 'perPerson',
    aggregate: 'MAX',
    fields: {
      column: {
        type: 'column',
        title: 'Column',
        columns: { types: ['integer', 'number', 'date', 'timestamp'] },
      },
      perPerson: {
        type: 'perPerson',
        title: 'Values',
        optional: true,
        personColumns: {
          sum: { types: ['integer', 'number'] },
          count: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean', 'string'] },
          mean: { types: ['integer', 'number'] },
        },
      },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'contribution'],
  },
  proportion: {
    title: 'Proportion',
    phrase: 'proportion with {of}',
    fields: { of: { type: 'condition', title: 'Share with' } },
    terms: [
      'epsilon',
      'accuracy',
      'mechanism',
      'calibration',
      'delta',
      'contribution',
      'use',
      'supposed',
      'postprocess',
    ],
    statistic: {
      of: { type: 'condition', title: 'Share with' },
      name: { type: 'text', title: 'Name of the proportion', optional: true },
    },
  },
  variance: {
    title: 'Variance',
    phrase: 'variance of {column}',
    aggregate: 'VAR_POP',
    fields: {
      column: { type: 'column', title: 'Column', columns: { types: ['integer', 'number'] } },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: [
      'epsilon',
      'accuracy',
      'mechanism',
      'calibration',
      'delta',
      'contribution',
      'use',
      'supposed',
      'postprocess',
    ],
    statistic: {
      column: { type: 'column', title: 'Column', columns: { types: ['integer', 'number'] } },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
  },
  standardDeviation: {
    title: 'Standard deviation',
    phrase: 'standard deviation of {column}',
    aggregate: 'STDDEV_POP',
    fields: {
      column: { type: 'column', title: 'Column', columns: { types: ['integer', 'number'] } },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: [
      'epsilon',
      'accuracy',
      'mechanism',
      'calibration',
      'delta',
      'contribution',
      'use',
      'supposed',
      'postprocess',
    ],
    statistic: {
      column: { type: 'column', title: 'Column', columns: { types: ['integer', 'number'] } },
      clamp: {
        type: 'clamp',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
  },
  covariance: {
    title: 'Covariance',
    phrase: 'covariance of {columns}',
    aggregate: 'COVAR_POP',
    fields: {
      columns: {
        type: 'columns',
        title: 'Columns',
        columns: { types: ['integer', 'number', 'date', 'timestamp', 'boolean'] },
        least: 2,
        most: 2,
      },
      clamp: {
        type: 'clamps',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: [
      'epsilon',
      'accuracy',
      'mechanism',
      'calibration',
      'delta',
      'contribution',
      'use',
      'supposed',
      'postprocess',
    ],
  },
  correlation: {
    title: 'Correlation',
    phrase: 'correlation of {columns}',
    aggregate: 'CORR',
    fields: {
      columns: {
        type: 'columns',
        title: 'Columns',
        columns: { types: ['integer', 'number', 'date', 'timestamp', 'boolean'] },
        least: 2,
        most: 2,
      },
      clamp: {
        type: 'clamps',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
  },
  linearRegression: {
    title: 'Linear regression',
    phrase: 'regression of {outcome} on {predictors}',
    fields: {
      outcome: {
        type: 'column',
        title: 'Column to explain',
        columns: { types: ['integer', 'number', 'date', 'timestamp', 'boolean'] },
      },
      predictors: {
        type: 'columns',
        title: 'Explained by',
        columns: { types: ['integer', 'number', 'date', 'timestamp', 'boolean'] },
        least: 1,
        most: 8,
      },
      ridge: {
        type: 'number',
        title: 'Ridge',
        hint: 'Keeps coefficients from growing without limit. By default it is as large as the expected noise.',
        optional: true,
      },
      clamp: {
        type: 'clamps',
        title: 'Clamp values',
        hint: 'Narrower bounds need less noise. Values beyond them count as the nearer bound.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
  },
  topGroups: {
    title: 'Largest groups',
    phrase: 'largest {k} by {keys}',
    grouped: true,
    fields: {
      keys: {
        type: 'groupings',
        title: 'Keys',
        columns: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean'] },
        least: 1,
        most: 8,
      },
      k: { type: 'number', title: 'How many', optional: true, default: 10, least: 1, most: 100, whole: true },
      of: {
        type: 'counted',
        title: 'Count',
        hint: 'One person moves a count of people by 1, whatever the number of rows.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
  },
  noisyMax: {
    title: 'Most frequent',
    phrase: 'most frequent {candidates}',
    grouped: true,
    fields: {
      candidates: {
        type: 'candidates',
        title: 'Candidates',
        columns: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean'] },
      },
      noise: {
        type: 'choice',
        title: 'Noise',
        hint: 'By default, the one with the smallest error.',
        optional: true,
        choices: ['laplace', 'exponential', 'gumbel'],
      },
      k: { type: 'number', title: 'How many', optional: true, default: 1, least: 1, most: 100, whole: true },
      of: {
        type: 'counted',
        title: 'Count',
        hint: 'One person moves a count of people by 1, whatever the number of rows.',
        optional: true,
      },
      gap: {
        type: 'flag',
        title: 'Also the distance to the next candidate',
        hint: 'At no further cost. The noise is then that of laplace.',
        optional: true,
        default: false,
        onlyWith: ['noise', 'laplace'],
      },
    },
    terms: ['epsilon', 'accuracy', 'contribution'],
  },
  countDistinct: {
    title: 'Distinct values',
    phrase: 'distinct values of {column}',
    fields: {
      column: {
        type: 'grouping',
        title: 'By',
        columns: {
          types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean', 'string'],
          selectable: true,
        },
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'contribution', 'use', 'postprocess'],
    statistic: {
      column: {
        type: 'grouping',
        title: 'By',
        columns: { types: ['category', 'integer', 'number', 'date', 'timestamp', 'boolean'] },
      },
    },
  },
  keySelection: {
    title: 'Frequent texts',
    phrase: 'frequent values of {column}',
    fields: {
      column: { type: 'column', title: 'Column', columns: { types: ['string'], selectable: true } },
      counts: {
        type: 'flag',
        title: 'Also a noisy count of each text',
        hint: 'Without counts more texts appear.',
        optional: true,
        default: false,
      },
      delta: {
        type: 'number',
        title: 'Delta',
        hint: 'Largest probability with which a text of one person appears.',
        initial: 0.000001,
        least: 0,
        most: 1,
      },
    },
    terms: ['epsilon', 'accuracy', 'contribution'],
  },
  contributionProfile: {
    title: 'People by number of rows',
    phrase: 'people by number of rows',
    ofPeople: true,
    fields: {
      nextEpsilon: {
        type: 'number',
        title: 'Epsilon of the next question',
        hint: 'What the answer recommends is weighed for this epsilon. By default, that of this question.',
        optional: true,
      },
    },
    terms: ['epsilon', 'accuracy', 'mechanism', 'calibration', 'delta', 'use', 'postprocess'],
  },
}
