import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** Writes each text of a folder a second time, compressed, because the service sends files as they are. */
export async function compressFolder(folder: string): Promise<void> {
  const files = await readdir(folder, { recursive: true })
  const texts = files
    .filter((name) => /\.(html|js|css|svg)$/.test(name))
    .map((name) => path.join(folder, name))
  await Promise.all(
    texts.map(async (file) => {
      await writeFile(`${file}.gz`, await promisify(gzip)(await readFile(file)))
    }),
  )
}
