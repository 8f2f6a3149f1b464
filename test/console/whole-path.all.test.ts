import { describe, expect, test } from 'vitest'
import { testService } from '../e2e/service.ts'
import { CHROMIUM, openTab } from './browser.ts'

const ROWS = Array.from({ length: 500 }, (_, place) => `${place % 100},${place % 3 === 0}`)

describe.skipIf(CHROMIUM === undefined)('The whole path in Chromium (skipped if it is not installed)', () => {
  const service = testService({})

  const tabOf = async (role: 'analyst' | 'custodian' | 'auditor') => {
    const tab = await openTab(service, role)
    return tab
  }

  test('a custodian registers data, an analyst asks and looks back, an auditor verifies', async () => {
    const custodian = await tabOf('custodian')
    const analyst = await tabOf('analyst')
    const auditor = await tabOf('auditor')

    const registering = custodian.page
    await registering.goto('/datasets')
    await registering.getByText('There is no dataset that you may use').waitFor()
    await registering.getByRole('link', { name: 'Register data' }).last().click()
    await registering.getByLabel('File', { exact: true }).setInputFiles({
      name: 'members.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`age,active\n${ROWS.join('\n')}\n`),
    })
    await registering.getByRole('button', { name: 'Continue' }).click()
    const age = registering.getByRole('group', { name: 'age', exact: true })
    await age.getByRole('button', { name: 'Edit age' }).click()
    await age.getByLabel('Smallest plausible').fill('0')
    await age.getByLabel('Largest plausible').fill('110')
    await registering.getByRole('link', { name: '3. People' }).click()
    await registering.getByLabel('One row').check()
    await registering.getByRole('link', { name: '4. Budget' }).click()
    await registering.getByLabel('By number').check()
    await registering.getByRole('textbox', { name: 'Epsilon', exact: true }).fill('1')
    await registering.getByRole('link', { name: '5. Check and publish' }).click()
    await registering.getByRole('button', { name: 'Publish' }).click()
    await registering.getByText('The dataset members can be queried').waitFor()

    const asking = analyst.page
    await asking.goto('/datasets')
    await asking.getByRole('link', { name: 'members' }).click()
    await asking.getByRole('link', { name: 'Ask' }).click()
    await asking.getByLabel('Statistic', { exact: true }).selectOption('histogram')
    await asking.getByRole('button', { name: 'Ask for epsilon 0.1' }).click()
    await asking.getByText('Cost epsilon 0.1. Left: epsilon 0.9').waitFor()
    await asking.getByRole('link', { name: 'History', exact: true }).first().click()
    await asking.getByText('rows by age in 5 bins').first().click()
    await asking.getByRole('link', { name: 'Ask again' }).click()
    await asking.getByRole('button', { name: 'Ask again, free' }).click()
    await asking.getByText('Free: this question was paid before').waitFor()

    const verifying = auditor.page
    await verifying.goto('/audit')
    await verifying.getByRole('link', { name: 'members' }).click()
    await verifying.getByText('analyst paid epsilon 0.1').waitFor()
    await verifying.getByRole('link', { name: 'Verification' }).click()
    await verifying.getByRole('button', { name: 'Verify the ledger' }).click()
    await verifying.getByText('The ledger is sound').waitFor()
    await verifying.getByText('1 of 1 request compared').waitFor()

    for (const { complaints } of [custodian, analyst, auditor]) {
      expect(complaints).toEqual([])
    }
  })
})
