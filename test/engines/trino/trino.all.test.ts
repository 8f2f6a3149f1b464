import { describe } from 'vitest'
import { describeTrino } from '../../servers/trino.ts'
import { testComparisons } from './cluster/comparisons.ts'
import { testTables } from './cluster/conformance.ts'
import { testFaults } from './cluster/faults.ts'
import { testJoined } from './cluster/joined.ts'
import { testNodes } from './cluster/nodes.ts'
import { testService } from './cluster/service.ts'

/* All that needs a cluster stands in one file, because one cluster takes 2 GB and half a minute to start. */

describeTrino('Trino', (trino) => {
  describe('a cluster of two nodes', () => testNodes(trino))
  describe('conditions on the values in a table', () => testComparisons(trino))
  describe('tables', () => testTables(trino))
  describe('joined tables', () => testJoined(trino))
  describe('the service over a table', () => testService(trino))
  describe('when something breaks', () => testFaults(trino))
})
