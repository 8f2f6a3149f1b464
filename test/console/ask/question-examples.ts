/** A question of every kind, with every operator and option. The service accepts each of them. */
export const QUESTIONS: readonly Readonly<Record<string, unknown>>[] = [
  { kind: 'count', where: { column: 'Age', op: '>=', value: 65 }, epsilon: 0.1 },
  { kind: 'count', of: 'people', contribution: { rows: 3 }, epsilon: 0.1 },
  { kind: 'count', accuracy: { halfWidth: 50 } },
  {
    kind: 'count',
    where: {
      op: 'and',
      predicates: [
        { column: 'Age', op: '>', value: 17.5 },
        { column: 'Age', op: '<=', value: 1e-7 },
        {
          op: 'or',
          predicates: [
            { column: "it's", op: '!=', value: 'a "quoted" \\ text\n' },
            { column: 'Sex "x"', op: 'in', values: ["O'Neil", '$(id)', '`id`', 'ä\u2028😀'] },
            { op: 'not', predicate: { column: 'Age', op: '<', value: -3 } },
          ],
        },
        { op: 'not', predicate: { column: 'urgent', op: '=', value: true } },
        { op: 'not', predicate: { op: 'not', predicate: { column: 'day', op: 'isNull' } } },
        {
          op: 'not',
          predicate: {
            op: 'and',
            predicates: [
              { column: 'day', op: 'between', lower: '2024-01-01', upper: '2024-12-31' },
              { column: 'urgent', op: '!=', value: false },
            ],
          },
        },
      ],
    },
    epsilon: 0.1,
    mechanism: 'geometric',
    postprocess: { round: true, nonNegative: true },
  },
  // The clients join such lists, so their code states the condition as JSON.
  {
    kind: 'sum',
    column: 'Earnings',
    where: {
      op: 'and',
      predicates: [
        {
          op: 'and',
          predicates: [
            { column: 'a', op: '=', value: false },
            { column: 'b', op: 'isNull' },
          ],
        },
        { op: 'or', predicates: [{ column: 'c', op: '=', value: "d'" }] },
      ],
    },
    epsilon: 0.1,
  },
  {
    kind: 'sum',
    column: 'Earnings',
    contribution: { groups: 2, rowsPerGroup: 4, perPerson: { lower: -1, upper: 100.5 } },
    mechanism: 'gaussian',
    calibration: 'classic',
    delta: 1e-12,
    epsilon: 0.5,
  },
  {
    kind: 'mean',
    column: 'Earnings',
    perPerson: 'sum',
    accuracy: { halfWidth: 0.5, confidence: 0.99 },
    supposed: { rows: 20_000, mean: 3.5, standardDeviation: 2 },
  },
  { kind: 'variance', column: 'Age', epsilon: 0.1 },
  { kind: 'bounds', column: 'Earnings', nextEpsilon: 0.5, epsilon: 0.1 },
  { kind: 'mean', column: 'Age', clamp: { lower: 10.5, upper: 80 }, epsilon: 0.1 },
  { kind: 'median', column: 'day', clamp: { lower: '2024-01-01', upper: '2024-12-31' }, epsilon: 0.1 },
  {
    kind: 'covariance',
    columns: ['Age', 'Earnings'],
    clamp: { Earnings: { lower: 0, upper: 500_000 } },
    epsilon: 0.5,
  },
  { kind: 'standardDeviation', column: 'Age', epsilon: 0.1, delta: 1e-7, mechanism: 'gaussian' },
  { kind: 'covariance', columns: ['Age', 'Earnings'], epsilon: 0.5 },
  { kind: 'correlation', columns: ['Age', 'Earnings'], mechanism: 'laplace', epsilon: 0.5 },
  { kind: 'linearRegression', outcome: 'Earnings', predictors: ['Age', 'urgent'], ridge: 2.5, epsilon: 1 },
  { kind: 'proportion', of: { column: 'Married', op: 'in', values: ['M', 'W'] }, epsilon: 0.1 },
  { kind: 'countDistinct', column: 'Occupation', epsilon: 1 },
  { kind: 'countDistinct', column: { column: 'day', by: 'dayOfWeek' }, epsilon: 1 },
  { kind: 'histogram', column: { column: 'Age', edges: [0, 18, 30.5, 120] }, of: 'people', epsilon: 0.1 },
  {
    kind: 'cumulativeCounts',
    column: { column: 'Age', edges: [0, 18, 120] },
    p: [25, 50],
    ranges: [{ lower: 18, upper: 120 }],
    epsilon: 0.1,
  },
  { kind: 'histogram', column: { column: 'day', by: 'month', from: '2023-07', to: '2024-06' }, epsilon: 0.1 },
  {
    kind: 'contingency',
    columns: ['Sex', { column: 'day', edges: ['2024-01-01', '2024-07-01'] }],
    epsilon: 0.1,
  },
  { kind: 'topGroups', keys: ['Occupation', { column: 'day', by: 'year', to: '2024' }], k: 3, epsilon: 0.1 },
  { kind: 'noisyMax', candidates: { column: 'Occupation' }, k: 2, gap: true, noise: 'gumbel', epsilon: 0.1 },
  { kind: 'noisyMax', candidates: { column: { column: 'day', by: 'hour' } }, epsilon: 0.1 },
  { kind: 'histogram', column: { column: 'day', by: 'week', timeZone: 'America/New_York' }, epsilon: 0.1 },
  { kind: 'sum', column: 'case when Age < 18 then 0 else Age - 17 end', epsilon: 0.1 },
  { kind: 'contributionProfile', epsilon: 0.1 },
  {
    kind: 'marginals',
    columns: ['Sex', 'Occupation', { column: 'day', by: 'year' }],
    ways: [1, 2],
    epsilon: 0.5,
  },
  { kind: 'marginals', columns: ['Sex', 'Married'], ways: [2, 1], weights: [3, 1, 0.5], epsilon: 0.5 },
  {
    kind: 'noisyMax',
    candidates: {
      predicates: [
        { name: 'old people', where: { column: 'Age', op: '>', value: 65 } },
        { name: 'young', where: { column: 'Age', op: '<', value: 18 } },
      ],
    },
    epsilon: 0.1,
  },
  { kind: 'median', column: 'Earnings', perPerson: 'mean', epsilon: 0.1 },
  { kind: 'percentile', column: 'Earnings', p: 95, epsilon: 0.1 },
  { kind: 'percentile', column: 'Earnings', p: [2.5, 50], perPerson: 'count', epsilon: 0.1 },
  { kind: 'minimum', column: 'Age', epsilon: 0.1 },
  { kind: 'maximum', column: 'Age', where: { column: 'Age', op: 'isNull' }, epsilon: 0.1 },
  { kind: 'keySelection', column: 'diagnosis', delta: 0.000001, counts: true, epsilon: 0.1 },
  { kind: 'groupBy', keys: [], statistics: [{ kind: 'count' }], epsilon: 0.5 },
  {
    kind: 'groupBy',
    keys: ['Sex', { column: 'day', by: 'quarter' }],
    statistics: [
      { kind: 'count' },
      { kind: 'count', of: 'people' },
      { kind: 'mean', column: 'Earnings' },
      { kind: 'mean', column: 'Earnings', perPerson: 'sum' },
      { kind: 'percentile', column: 'Earnings', p: 97.5 },
      { kind: 'countDistinct', column: { column: 'Age', edges: [0, 50, 100] } },
      { kind: 'standardDeviation', column: 'größe (cm)' },
      { kind: 'proportion', of: { column: 'Married', op: '=', value: 'M' } },
    ],
    where: { column: 'Age', op: '>=', value: 18 },
    accuracy: { halfWidth: 100, confidence: 0.9 },
    supposed: { rows: 1000 },
  },
  {
    kind: 'groupBy',
    keys: ['Sex'],
    statistics: [
      { kind: 'proportion', of: { column: 'Married', op: '=', value: 'M' }, name: 'proportion1' },
      { kind: 'proportion', of: { column: 'Age', op: '>=', value: 65 }, name: 'proportion2' },
    ],
    epsilon: 0.5,
  },
]

/** Questions that the functions of the TypeScript client do not make. */
export const UNUSUAL_QUESTIONS: readonly Readonly<Record<string, unknown>>[] = [
  {
    kind: 'groupBy',
    keys: ['Sex'],
    statistics: [{ kind: 'proportion', of: { column: 'Age', op: '>=', value: 65 }, name: 'retired' }],
    epsilon: 0.5,
  },
  {
    kind: 'noisyMax',
    candidates: {
      predicates: [
        { name: 'b', where: { column: 'Age', op: '>', value: 65 } },
        { name: '2', where: { column: 'Age', op: '<', value: 18 } },
      ],
    },
    epsilon: 0.1,
  },
]
