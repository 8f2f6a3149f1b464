import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { RegisteredSource } from '../../src/catalog/catalog.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { createRegistry, type RegistryDependencies } from '../../src/registration/registry.ts'
import { summed } from '../ledger/support.ts'

const digest = 'a'.repeat(64)
const real: RegisteredSource = { dataset: 'patients', digest, synthetic: false }
const madeUp: RegisteredSource = { dataset: 'demo', digest, synthetic: true }

test.each([
  ['real first', [real, madeUp]],
  ['synthetic first', [madeUp, real]],
])(
  'a source that an earlier release registered as real and as synthetic is reported at once, %s',
  async (_name, sources) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'sotto-sources-'))
    const ledger = await openSqliteLedger({ path: path.join(directory, 'ledger.sqlite') })
    try {
      for (const { dataset } of sources) await ledger.openBudget(dataset, summed('1'), 'custodian')
      const catalog: Pick<RegistryDependencies['catalog'], 'registeredSources'> = {
        registeredSources: () => sources,
      }
      const registry = createRegistry({ catalog, ledger } as unknown as RegistryDependencies)
      expect(await registry.recordSources()).toEqual(['demo'])
    } finally {
      await ledger.close()
      await rm(directory, { recursive: true })
    }
  },
)
