/** Time until the contents of a saved file are released. The browser has begun to write the file by then. */
const RELEASE_AFTER_MS = 60_000

/** Saves a file on the person's device, as a download of the browser. */
export function saveFile(name: string, contents: Blob): void {
  const address = URL.createObjectURL(contents)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), RELEASE_AFTER_MS)
}
