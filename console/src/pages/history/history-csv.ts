/** Page of the history as CSV, and the cursor of the page after it. */
export interface CsvPage {
  readonly text: string
  readonly next?: string
}

/**
 * Reads all pages of the history, and returns them as one CSV file with one header.
 * @param readPage reads the page at a cursor; without it, the first
 */
export async function wholeCsv(readPage: (cursor?: string) => Promise<CsvPage>): Promise<string> {
  const first = await readPage()
  let text = first.text
  for (let { next } = first; next !== undefined; ) {
    const page: CsvPage = await readPage(next)
    // The names of the columns contain no line break.
    text += page.text.slice(page.text.indexOf('\n') + 1)
    next = page.next
  }
  return text
}
