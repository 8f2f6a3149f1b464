import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { alertRules } from './alerts.ts'
import { dashboard } from './dashboard.ts'

/*
 * Writes the alerts and the dashboard beside this folder: `npm run monitoring`. `npm run monitoring -- --docs <url>` writes
 * alerts that link to the runbooks at another address.
 */

const { docs } = parseArgs({ options: { docs: { type: 'string' } } }).values
const folder = path.resolve(import.meta.dirname, '..')
await writeFile(path.join(folder, 'prometheus/alerts.yaml'), alertRules(docs))
await writeFile(path.join(folder, 'grafana/sotto.json'), dashboard())
