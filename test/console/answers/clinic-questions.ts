/** Dataset of people with several rows. */
export const CLINICS = {
  id: 'two-clinics',
  title: 'Visits',
  timing: 'off',
  source: { kind: 'file', path: 'visits.csv', format: 'csv' },
  columns: [
    { name: 'patient', type: 'identifier' },
    { name: 'Region', type: 'category', categories: ['north', "the 'south'"] },
    { name: 'day', type: 'date', lower: '2024-01-01', upper: '2024-12-31' },
    { name: 'cost (EUR)', type: 'number', lower: 0, upper: 100, step: 0.5, nullable: true },
    { name: 'age', type: 'integer', lower: 0, upper: 120 },
    { name: 'urgent', type: 'boolean' },
    { name: 'diagnosis', type: 'string', selectable: true },
  ],
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 4 },
  neighbours: 'add-remove',
  budget: { epsilon: 1_000, delta: 1e-3 },
}

const ROWS = Array.from({ length: 300 }, (_, place) => {
  const patient = Math.floor(place / 2)
  const day = `2024-0${1 + (place % 9)}-1${place % 10}`
  const cost = place % 10 === 0 ? '' : (place % 60) + 0.5
  const region = patient % 2 === 0 ? 'north' : "the 'south'"
  return [`p${patient}`, region, day, cost, 20 + (patient % 60), place % 2 === 0, `case ${place % 3}`].join(
    ',',
  )
})

/** The file of {@link CLINICS}. */
export const CLINICS_CSV = [CLINICS.columns.map(({ name }) => name).join(','), ...ROWS, ''].join('\n')

const where = { column: 'age', op: '>=', value: 30 }
/** Questions of every kind. */
export const CLINIC_QUESTIONS: readonly Readonly<Record<string, unknown>>[] = [
  { kind: 'count', where, epsilon: 0.5 },
  { kind: 'count', of: 'people', where: { column: 'Region', op: '=', value: "the 'south'" }, epsilon: 0.5 },
  { kind: 'count', contribution: { rows: 2 }, accuracy: { halfWidth: 20, confidence: 0.9 } },
  { kind: 'count', postprocess: { round: true, nonNegative: true }, mechanism: 'laplace', epsilon: 0.51 },
  {
    kind: 'sum',
    column: 'cost (EUR)',
    where: {
      op: 'or',
      predicates: [
        { op: 'and', predicates: [where, { column: 'urgent', op: '=', value: true }] },
        { column: 'cost (EUR)', op: 'isNull' },
        { column: 'day', op: 'between', lower: '2024-02-01', upper: '2024-06-30' },
      ],
    },
    contribution: { rows: 2, perPerson: { lower: 0, upper: 120.5 } },
    epsilon: 0.5,
  },
  {
    kind: 'mean',
    column: 'age',
    mechanism: 'gaussian',
    calibration: 'analytic',
    delta: 1e-6,
    epsilon: 0.5,
  },
  { kind: 'mean', column: 'age', accuracy: { halfWidth: 20 }, supposed: { rows: 300 } },
  { kind: 'variance', column: 'age', epsilon: 0.5 },
  { kind: 'standardDeviation', column: 'cost (EUR)', epsilon: 0.5 },
  { kind: 'covariance', columns: ['age', 'cost (EUR)'], epsilon: 0.5 },
  { kind: 'correlation', columns: ['age', 'cost (EUR)'], epsilon: 0.5 },
  { kind: 'linearRegression', outcome: 'cost (EUR)', predictors: ['age'], ridge: 2, epsilon: 1 },
  { kind: 'proportion', of: { column: 'Region', op: 'in', values: ['north'] }, epsilon: 0.5 },
  { kind: 'countDistinct', column: 'Region', epsilon: 0.5 },
  { kind: 'contributionProfile', where, epsilon: 0.5 },
  { kind: 'histogram', column: 'Region', epsilon: 0.5 },
  { kind: 'bounds', column: 'cost (EUR)', nextEpsilon: 0.2, epsilon: 0.5 },
  { kind: 'histogram', column: { column: 'day', by: 'month' }, of: 'people', epsilon: 0.5 },
  {
    kind: 'cumulativeCounts',
    column: { column: 'age', edges: [0, 18, 65, 120] },
    p: [50],
    ranges: [{ lower: 18, upper: 120 }],
    epsilon: 0.5,
  },
  { kind: 'histogram', column: { column: 'age', edges: [0, 18, 65, 120] }, epsilon: 0.5 },
  {
    kind: 'contingency',
    columns: ['Region', 'urgent'],
    contribution: { groups: 1, rowsPerGroup: 2 },
    epsilon: 0.5,
  },
  { kind: 'marginals', columns: ['Region', 'urgent'], ways: [1, 2], epsilon: 0.5 },
  { kind: 'topGroups', keys: ['Region'], k: 2, epsilon: 0.5 },
  { kind: 'noisyMax', candidates: { column: 'Region' }, k: 1, epsilon: 0.5 },
  { kind: 'median', column: 'cost (EUR)', epsilon: 0.5 },
  { kind: 'percentile', column: 'age', p: 95, epsilon: 0.5 },
  { kind: 'percentile', column: 'day', p: [5, 95], epsilon: 0.5 },
  { kind: 'minimum', column: 'day', epsilon: 0.5 },
  { kind: 'maximum', column: 'age', where: { column: 'urgent', op: '!=', value: true }, epsilon: 0.5 },
  { kind: 'keySelection', column: 'diagnosis', delta: 1e-5, counts: true, epsilon: 1 },
  { kind: 'groupBy', keys: [], statistics: [{ kind: 'count' }], epsilon: 0.6 },
  { kind: 'groupBy', keys: ['Region'], statistics: [{ kind: 'count' }], epsilon: 0.7 },
  {
    kind: 'groupBy',
    keys: ['Region', { column: 'day', by: 'quarter' }],
    statistics: [{ kind: 'count' }, { kind: 'count', of: 'people' }, { kind: 'mean', column: 'age' }],
    where,
    epsilon: 0.5,
  },
]
