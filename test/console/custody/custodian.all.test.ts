import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../e2e/service.ts'
import { createFakeDatabase, type FakeDatabase } from '../../engines/tables/fake-database.ts'
import { suspendDemo } from '../broken-rows.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from '../browser.ts'

const VISITS = `patient_id;visited;region;cost;age
p-17;02.01.2023;north;40,50;34
p-17;16.01.2023;north;12;34
p-3;17.01.2023;south;230,75;51
p-88;20.02.2023;south;55;29
p-3;21.02.2023;south;18,20;51
p-41;03.03.2023;north;64;sixty
`

const CONNECTIONS = `
warehouse:
  engine: postgres
  host: db.example
  user: reader
  password: secret
  database: clinic
  schema: main
`

describe.skipIf(CHROMIUM === undefined)('Custodians in Chromium (skipped if it is not installed)', () => {
  let service: TestService
  let database: FakeDatabase
  beforeAll(async () => {
    database = await createFakeDatabase()
    await database.run(
      "CREATE TABLE visits AS SELECT 'p' || (i // 5) AS patient, 20 + i // 5 AS age FROM range(500) AS rows(i)",
    )
    service = await startTestService(
      { SOTTO_DEMO: 'true', SOTTO_CONNECTIONS: 'connections.yaml' },
      { parts: { tableEngines: () => database.engine }, files: { 'connections.yaml': CONNECTIONS } },
    )
  })
  afterAll(() => service.close())

  test('create, rotate and delete a key, which is shown once', async () => {
    const { page, complaints } = await openTab(service, 'custodian', '/keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('notebook')
    await dialog.getByLabel('Only these').check()
    await dialog.getByLabel('A made-up census').check()
    await dialog.getByText('BI tools').click()
    await dialog.getByRole('radio', { name: 'Never' }).check()
    await dialog.getByLabel('Epsilon of each query').fill('0.1')
    await expectAccessible(page)
    await keepScreenshot(page, 'keys-create-1440-light')
    await dialog.getByRole('button', { name: 'Create the key' }).click()
    await dialog.getByText('Copy the key now').waitFor()
    const key = await dialog.getByRole('region', { name: 'Key' }).innerText()
    const me = await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${key}` } })
    expect(await me.json()).toEqual({ name: 'notebook', role: 'analyst', datasets: ['census'] })
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByText('free answers only').waitFor()
    const { body } = await service.as('custodian').get('/v1/keys').expect(200)
    const made = body.keys.find(({ id }: { id: string }) => id === 'notebook.1')
    expect(made).toMatchObject({ spending: 'never', settings: { epsilon: 0.1 } })

    await page.getByRole('button', { name: 'Rotate notebook.1' }).click()
    await dialog.getByLabel('Validity of the previous key').selectOption('Ends at once')
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    await dialog.getByText('Copy the key now').waitFor()
    expect(await dialog.getByRole('region', { name: 'Key' }).innerText()).not.toBe(key)
    await page.keyboard.press('Escape')
    const previous = await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${key}` } })
    expect(previous.status).toBe(401)

    await page.getByRole('button', { name: 'Delete notebook.1' }).click()
    await dialog.getByRole('button', { name: 'Delete the key' }).click()
    await page.getByRole('heading', { name: '4 keys' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('register a file: draft, columns, people, budget, dry run and publication', async () => {
    const { page, complaints } = await openTab(service, 'custodian', '/register')
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'visits.csv', mimeType: 'text/csv', buffer: Buffer.from(VISITS) })
    await page.getByRole('button', { name: 'Continue' }).click()
    const column = (name: string) => page.getByRole('group', { name, exact: true })
    for (const name of ['visited', 'region', 'cost', 'age'])
      await page.getByRole('button', { name: `Edit ${name}` }).click()
    await column('visited').getByLabel('First plausible date').fill('2023-01-01')
    await column('visited').getByLabel('Last plausible date').fill('2023-12-31')
    await column('region').getByLabel('All values').fill('north\nsouth')
    await column('cost').getByLabel('Smallest plausible').fill('0')
    await column('cost').getByLabel('Largest plausible').fill('500')
    await column('cost').getByLabel('Step').fill('0.01')
    await column('age').getByLabel('Type of age').selectOption('Whole number')
    await column('age').getByLabel('Smallest plausible').fill('0')
    await expectAccessible(page)
    await keepScreenshot(page, 'register-columns-1440-light')

    // A declaration with an open question cannot be tried; what was entered outlives a reload.
    await page.getByRole('link', { name: '5. Check and publish' }).click()
    expect(await page.getByRole('button', { name: 'Dry run' }).isDisabled()).toBe(true)
    await page.reload()
    await page.getByRole('link', { name: 'age: upper' }).click()
    await page.getByRole('button', { name: 'Edit age' }).click()
    await column('age').getByLabel('Largest plausible').fill('110')

    await page.getByRole('link', { name: 'Continue: People' }).click()
    await page.getByLabel('Several rows').check()
    await page.getByLabel('Most rows of a person').fill('2')
    await page.getByText('Each person keeps at most 2 rows').waitFor()
    await expectAccessible(page)
    await keepScreenshot(page, 'register-people-1440-light')
    await page.getByRole('link', { name: 'Continue: Budget' }).click()
    await page.getByRole('textbox', { name: 'Accepted risk, in %' }).fill('80')
    await page.getByText('Epsilon 0.69').waitFor()
    await expectAccessible(page)
    await keepScreenshot(page, 'register-budget-1440-light')
    await page.getByRole('link', { name: 'Continue: Check and publish' }).click()
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByText('Nothing was published yet').waitFor()
    const misfits = page.getByRole('region', { name: 'Values that did not fit' })
    expect(await misfits.getByRole('row').last().innerText()).toMatch(
      /age\s+is not a whole number\s+1\s+line 7/,
    )
    await page.getByText('at most 79.9% of the time').waitFor()
    await expectAccessible(page)
    await keepScreenshot(page, 'register-check-1440-light')
    expect((await service.as('analyst').get('/v1/datasets/visits')).status).toBe(404)
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('The dataset visits can be queried').waitFor()
    const { body } = await service.as('analyst').get('/v1/datasets/visits/budget')
    expect(body.granted).toEqual({ epsilon: 0.69, delta: 0 })
    // The upload is not needed any more.
    await expect.poll(async () => (await service.as('custodian').get('/v1/sources')).body.sources).toEqual([])
    expect(complaints).toEqual([])
  })

  test('register several files as one dataset: joins, their picture, and the page of the dataset', async () => {
    const { page, complaints } = await openTab(service, 'custodian', '/register')
    await page.getByLabel('Upload several files').check()
    const files = {
      'visits.csv': 'patient,hospital,urgent\np1,h1,true\np1,h9,false\np2,h1,true\n',
      'patients.csv': 'number,insured\np1,true\np2,false\n',
      'hospitals.csv': 'code,large\nh1,true\n',
      'prescriptions.csv': 'patient,generic\np1,true\np1,false\np2,true\n',
    }
    await page.getByLabel('Files', { exact: true }).setInputFiles(
      Object.entries(files).map(([name, text]) => ({
        name,
        mimeType: 'text/csv',
        buffer: Buffer.from(text),
      })),
    )
    await page.getByRole('button', { name: 'Continue' }).click()
    const join = (name: string) => page.getByRole('group', { name, exact: true })
    await join('Join 1').getByLabel('Column that refers').selectOption('visits.patient')
    await join('Join 1').getByLabel('Key that it refers to').selectOption('patients.number')
    await join('Join 2').getByLabel('Column that refers').selectOption('visits.hospital')
    await join('Join 2').getByLabel('Key that it refers to').selectOption('hospitals.code')
    await join('Join 2').getByLabel('The other table is').selectOption('a public list')
    await join('Join 3').getByLabel('The other table is').selectOption('further rows of the same people')
    await join('Join 3').getByLabel('Column of people').selectOption('patients.number')
    await join('Join 3').getByLabel('Column that names the same people').selectOption('prescriptions.patient')
    await join('Join 3').getByLabel('Most rows of a person from visits').fill('5')
    await join('Join 3').getByLabel('Most rows of a person from prescriptions').fill('1')
    await page.getByText('Every row belongs to one person of patients').waitFor()
    await expectAccessible(page)
    await keepScreenshot(page, 'register-joins-1440-light')

    await page.getByRole('link', { name: 'Continue: Columns' }).click()
    await page.getByRole('textbox', { name: 'Id' }).fill('joined-clinic')
    await page.getByRole('button', { name: 'Edit hospitals.large' }).click()
    const column = (name: string) => page.getByRole('group', { name, exact: true })
    await column('hospitals.code').getByLabel('Declare', { exact: true }).uncheck()
    await column('hospitals.large').getByLabel('Values may be missing').check()
    await page.getByRole('button', { name: 'Add a derived column' }).click()
    await column('Derived column 1').getByLabel('Name').fill('planned')
    await column('Derived column 1').getByLabel('Expression').fill('not urgent')
    await page.getByRole('link', { name: 'Continue: People' }).click()
    await page.getByLabel('Most rows of a person').fill('2')
    await page.getByRole('link', { name: 'Continue: Budget' }).click()
    await page.getByRole('textbox', { name: 'Accepted risk, in %' }).fill('80')
    await page.getByRole('link', { name: 'Continue: Check and publish' }).click()
    await page.getByRole('button', { name: 'Dry run' }).click()
    const references = page.getByRole('region', { name: 'References that lead nowhere' })
    await references.waitFor()
    const counted = await references.getByRole('row').allInnerTexts()
    expect(counted[2]).toMatch(/visits\.hospital .*\s0\s+1\s*$/)
    // Of the two prescriptions of one person one is left out.
    expect(counted[3]).toMatch(/prescriptions\.patient\s+0\s+0\s+visits: 0, prescriptions: 1$/)
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('The dataset joined-clinic can be queried').waitFor()
    await expect.poll(async () => (await service.as('custodian').get('/v1/sources')).body.sources).toEqual([])
    await page.getByRole('link', { name: 'Show the dataset' }).click()
    await page.getByText('Every row belongs to one person of patients').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  test('register the same source a second time only with a reason', async () => {
    const { page } = await openTab(service, 'custodian')
    const registerMembers = async (id: string) => {
      await page.goto('/register')
      await page.getByLabel('File', { exact: true }).setInputFiles({
        name: `${id}.csv`,
        mimeType: 'text/csv',
        buffer: Buffer.from('age,member\n41,true\n17,false\n'),
      })
      await page.getByRole('button', { name: 'Continue' }).click()
      const age = page.getByRole('group', { name: 'age', exact: true })
      await age.getByRole('button', { name: 'Edit age' }).click()
      await age.getByLabel('Smallest plausible').fill('0')
      await age.getByLabel('Largest plausible').fill('110')
      await page.getByRole('link', { name: '3. People' }).click()
      await page.getByLabel('One row').check()
      await page.getByRole('link', { name: '4. Budget' }).click()
      await page.getByLabel('By number').check()
      await page.getByRole('textbox', { name: 'Epsilon', exact: true }).fill('2')
      await page.getByRole('link', { name: '5. Check and publish' }).click()
      await page.getByRole('button', { name: 'Publish' }).click()
    }
    await registerMembers('members')
    await page.getByText('The dataset members can be queried').waitFor()
    await registerMembers('more-members')
    await page.getByText('The source is already registered').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Reason for a second budget').fill('Another study with its own approval.')
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('The dataset more-members can be queried').waitFor()
  })

  test('register a table, and see which columns have changed in its database', async () => {
    const { page, complaints } = await openTab(service, 'custodian', '/register')
    await page.getByLabel('A table of a database').check()
    await page.getByLabel('Connection').selectOption('warehouse (postgres)')
    await page.getByLabel('Table or view').fill('visits')
    await page.getByLabel('A repeated question').selectOption('until the hour ends (UTC)')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Id').fill('clinic')
    const age = page.getByRole('group', { name: 'age', exact: true })
    await age.getByRole('button', { name: 'Edit age' }).click()
    await age.getByLabel('Smallest plausible').fill('0')
    await age.getByLabel('Largest plausible').fill('110')
    await page.getByLabel('Type of patient').selectOption('Identifies a person')
    await page.getByRole('link', { name: '3. People' }).click()
    await page.getByLabel('Several rows').check()
    await page.getByLabel('Most rows of a person').fill('5')
    expect(await page.getByLabel('What the rows of a person say').isDisabled()).toBe(true)
    await page.getByRole('link', { name: '4. Budget' }).click()
    await page.getByLabel('By number').check()
    await page.getByRole('textbox', { name: 'Epsilon', exact: true }).fill('2')
    await page.getByRole('link', { name: '5. Check and publish' }).click()
    await page.getByText(/visits \(live, freshness: hour\)/).waitFor()
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('The dataset clinic can be queried').waitFor()

    const answered = await service.ask('clinic', { kind: 'count', epsilon: 0.5 }).expect(200)
    const analyst = await openTab(service, 'analyst', `/history/${answered.body.id}`)
    await analyst.page.getByText(/The rows are those of .* A repeat is free until .*:00 UTC/).waitFor()

    await database.run('ALTER TABLE visits RENAME COLUMN age TO years')
    const question = { kind: 'mean', column: 'age', epsilon: 0.5 }
    await service.ask('clinic', question)
    await page.getByRole('link', { name: 'Manage it' }).click()
    await page.getByText('The table has changed in its database').waitFor()
    const changes = page.getByRole('region', { name: 'Changed columns' })
    expect(await changes.getByRole('row').last().innerText()).toMatch(/age\s+is missing/)
    await expectAccessible(page)
    await keepScreenshot(page, 'table-changed-1440-light')
    expect(complaints).toEqual([])
  })

  test('create a population, add a dataset to it, raise its cap and set an allotment', async () => {
    const household = {
      id: 'household',
      title: 'A household',
      source: { kind: 'population', rows: 50, seed: 'household' },
      columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 100 }],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 2 },
    }
    await service.register(household).expect(201)
    const { page, complaints } = await openTab(service, 'custodian', '/populations')
    const dialog = page.getByRole('dialog')
    await page.getByText('There is no population').waitFor()
    await page.getByRole('button', { name: 'Create a population' }).click()
    await dialog.getByRole('textbox', { name: 'Id' }).fill('residents')
    await dialog.getByLabel('At most one row in each dataset').check()
    await dialog.getByLabel('Epsilon').fill('20')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Create it' }).click()
    await page.getByText('0 of 20 epsilon spent').waitFor()

    await page.getByRole('button', { name: 'Add a dataset' }).click()
    await dialog.getByLabel('Dataset').selectOption('household')
    await dialog.getByRole('button', { name: 'Add it for ever' }).click()
    await page.getByRole('link', { name: 'household' }).waitFor()
    await service.ask('household', { kind: 'count', epsilon: 0.5 }).expect(200)

    await page.getByRole('button', { name: 'Raise the cap' }).click()
    await dialog.getByLabel('Epsilon').fill('5')
    await dialog.getByLabel('Reason').fill('A second study.')
    await dialog.getByRole('button', { name: 'Grant' }).click()
    await page.getByText('0.5 of 25 epsilon spent').waitFor()
    await page.getByRole('button', { name: 'Set the allotment of analyst' }).click()
    await dialog.getByLabel('Epsilon').fill('2')
    await dialog.getByLabel('Reason').fill('Share of one analyst.')
    await dialog.getByRole('button', { name: 'Set the allotment' }).click()
    await page.getByRole('meter', { name: 'Allotment of analyst' }).waitFor()
    await expectAccessible(page)
    await keepScreenshot(page, 'populations-1440-light')
    expect(complaints).toEqual([])
  })

  test('grant, allot, publish a version, and withdraw', async () => {
    const people = {
      id: 'people',
      title: 'A few people',
      source: { kind: 'population', rows: 50, seed: 's' },
      columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 100 }],
      privacyUnit: { kind: 'row' },
      neighbours: 'add-remove',
      budget: { epsilon: 2 },
    }
    await service.register(people).expect(201)
    await service.ask('people', { kind: 'count', epsilon: 0.5 }).expect(200)
    const { page, complaints } = await openTab(service, 'custodian')
    const dialog = page.getByRole('dialog')
    await page.goto('/datasets/people/manage')
    await page.getByRole('button', { name: 'Raise the cap' }).click()
    await dialog.getByLabel('Epsilon').fill('1')
    await dialog.getByLabel('Reason').fill('A second study.')
    await dialog.getByRole('button', { name: 'Grant' }).click()
    await page.getByText('0.5 of 3 epsilon spent').waitFor()

    // An allotment below what is spent is refused; the dialog stays open and says why.
    await page.getByRole('button', { name: 'Set the allotment of analyst' }).click()
    await dialog.getByLabel('Epsilon').fill('0.1')
    await dialog.getByLabel('Reason').fill('Share of one analyst.')
    await dialog.getByRole('button', { name: 'Set the allotment' }).click()
    await dialog.getByRole('alert').waitFor()
    await expectAccessible(page)
    await dialog.getByLabel('Epsilon').fill('1')
    await dialog.getByRole('button', { name: 'Set the allotment' }).click()
    await page.getByRole('meter', { name: 'Allotment of analyst' }).waitFor()

    await page.getByRole('link', { name: 'Spending' }).click()
    await page.getByText('There is no forecast yet').waitFor()
    await expectAccessible(page)
    await keepScreenshot(page, 'spending-1440-light')
    await page.getByRole('link', { name: 'Manage' }).click()

    await page.getByRole('button', { name: 'Publish new rows' }).click()
    await page.getByLabel('Widen the declaration').check()
    const age = page.getByRole('group', { name: 'Age', exact: true })
    await age.getByRole('button', { name: 'Edit Age' }).click()
    await age.getByLabel('Largest plausible').fill('120')
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByText('Nothing was published yet').waitFor()
    await page.getByRole('button', { name: 'Publish the version' }).click()
    await page.getByText('Version 2 is present').waitFor()
    await page.getByText('people, version 2').waitFor()
    await expectAccessible(page)
    await keepScreenshot(page, 'manage-1440-light')

    await page.getByRole('button', { name: 'Withdraw' }).click()
    const withdraw = dialog.getByRole('button', { name: 'Withdraw the dataset' })
    expect(await withdraw.isDisabled()).toBe(true)
    await dialog.getByLabel('Type people to confirm').fill('people')
    await withdraw.click()
    await page.getByRole('heading', { level: 1, name: 'Datasets' }).waitFor()
    await page.getByText('A few people').waitFor({ state: 'detached' })
    await service.as('analyst').get('/v1/datasets/people').expect(404)
    // The browser reports the status of the refused allotment.
    expect(complaints.filter((text) => !text.includes('409'))).toEqual([])
  })

  test('change a limit of a dataset: copy its declaration, withdraw it, and register it again', async () => {
    const csv = (rows: number) => Buffer.from(`age\n${'41\n17\n'.repeat(rows)}`)
    const { page, complaints } = await openTab(service, 'custodian')
    const upload = async (rows: number) => {
      await page.goto('/register')
      await page
        .getByLabel('File', { exact: true })
        .setInputFiles({ name: 'limited.csv', mimeType: 'text/csv', buffer: csv(rows) })
      await page.getByRole('button', { name: 'Continue', exact: true }).click()
    }
    await upload(50)
    const age = page.getByRole('group', { name: 'age', exact: true })
    await age.getByRole('button', { name: 'Edit age' }).click()
    await age.getByLabel('Smallest plausible').fill('0')
    await age.getByLabel('Largest plausible').fill('110')
    await page.getByRole('link', { name: '3. People' }).click()
    await page.getByLabel('One row').check()
    await page.getByRole('link', { name: '4. Budget' }).click()
    await page.getByLabel('By number').check()
    await page.getByRole('textbox', { name: 'Epsilon', exact: true }).fill('2')
    await page.getByRole('link', { name: '5. Check and publish' }).click()
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('The dataset limited can be queried').waitFor()
    await service.ask('limited', { kind: 'count', epsilon: 0.5 }).expect(200)

    await upload(51)
    await page.getByText('Copy the declaration of a dataset').click()
    await page.getByRole('combobox', { name: 'Dataset' }).selectOption('Limited (limited)')
    await age.getByText('0 to 110').waitFor()
    await age.getByRole('button', { name: 'Edit age' }).click()
    await expect.poll(() => age.getByLabel('Largest plausible').inputValue()).toBe('110')
    await expectAccessible(page)
    await page.getByRole('link', { name: '4. Budget' }).click()
    await page.getByText('Limits of each question, release times').click()
    await page.getByLabel('Largest epsilon of a question').fill('0.25')
    await page.getByRole('link', { name: '5. Check and publish' }).click()
    await service.as('custodian').delete('/v1/datasets/limited').expect(204)
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('The dataset limited can be queried').waitFor()
    const { body } = await service.as('analyst').get('/v1/datasets/limited/budget').expect(200)
    expect(body).toMatchObject({ cap: { epsilon: 2 }, spent: { epsilon: 0.5 } })
    await page.getByRole('link', { name: 'Manage it' }).click()
    await page.getByText('epsilon at most 0.25').waitFor()
    expect(complaints).toEqual([])
  })

  test('see why a dataset is suspended, and resume it', async () => {
    const query = { kind: 'count', where: { column: 'Age', op: '>=', value: 40 }, epsilon: 0.25 }
    await suspendDemo(service)
    const { page, complaints } = await openTab(service, 'custodian', '/datasets/census/manage')
    await page.getByRole('heading', { name: 'The dataset is suspended' }).waitFor()
    await expectAccessible(page)
    await keepScreenshot(page, 'suspended-1440-light')
    await page.getByRole('button', { name: 'Resume' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('The file is restored.')
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('heading', { name: 'The dataset is suspended' }).waitFor({ state: 'detached' })
    await service.ask('census', query).expect(200)
    expect(complaints).toEqual([])
  })
})
