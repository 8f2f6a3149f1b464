import type { Load } from '../source-copy.ts'

/** Lets a copy of the source say where it is, so that other processes can load it. */
export const OPENING = {
  file: 'ledger/open.ts',
  find: 'export async function openLedger(',
  replace: 'export const here = import.meta.url\n\nexport async function openLedger(',
}

/** The module that opens a ledger in a copy of the source that was made with {@link OPENING}. */
export async function moduleOfCopy(load: Load): Promise<string> {
  const { here } = await load<{ readonly here: string }>('ledger/open.ts')
  return here
}
