/**
 * The database of the catalog and the keys does not respond, or cannot be used. A write that failed with it may have taken
 * effect. The message contains no document.
 */
export class DocumentsFault extends Error {
  override readonly name = 'DocumentsFault'
}
