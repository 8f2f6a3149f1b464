import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { TextDecoder } from 'node:util'
import { createGunzip } from 'node:zlib'
import type { CsvDialect } from '../../../../core/dataset/dataset.ts'
import { defined } from '../../../../privacy/defined.ts'
import { requireBytes } from '../bounds.ts'
import type { Examination } from './format.ts'

const CHUNK_BYTES = 2 ** 20
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 0x08])
const UTF_8_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const UTF_16_BE_MARK = Buffer.from([0xfe, 0xff])
const SPACE = 0x20
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Returns true for a file that is compressed by gzip (RFC 1952). No text in any encoding here begins as these do. */
export async function isGzip(file: string): Promise<boolean> {
  const handle = await open(file)
  try {
    const { buffer } = await handle.read(Buffer.alloc(GZIP_MAGIC.length), 0, GZIP_MAGIC.length, 0)
    return buffer.equals(GZIP_MAGIC)
  } finally {
    await handle.close()
  }
}

/**
 * Reads a file as UTF-8 without a byte order mark: decompressed, decoded, and with single spaces as delimiters.
 *
 * @param take receives the chunks in order
 * @throws Error for a file that is not compressed or encoded as stated, Refusal for one that decompresses to more bytes
 * than the bounds allow, and an AbortError once the signal has aborted.
 */
export async function readText(
  file: string,
  dialect: CsvDialect,
  isCompressed: boolean,
  { signal, onProgress, bounds }: Examination,
  take: (chunk: Buffer) => Promise<void> | void,
): Promise<void> {
  const { size } = await stat(file)
  const source = createReadStream(file, { highWaterMark: CHUNK_BYTES })
  let bytes = 0
  const decode = async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of decoded(chunks, dialect)) {
      bytes += chunk.length
      requireBytes(bytes, bounds)
      await take(chunk)
      onProgress?.({ phase: 'check', fraction: size === 0 ? 1 : source.bytesRead / size })
    }
  }
  const options = defined({ signal })
  if (isCompressed) await pipeline(source, createGunzip({ chunkSize: CHUNK_BYTES }), decode, options)
  else await pipeline(source, decode, options)
}

async function* decoded(chunks: AsyncIterable<Buffer>, { encoding, delimiter, quote }: CsvDialect) {
  let text = withLongStart(chunks)
  switch (encoding) {
    case 'utf-8':
      text = withoutMark(text)
      break
    case 'latin-1':
      // The Encoding Standard reads Latin-1 as Windows-1252, which has characters where ISO 8859-1 has controls.
      text = transcoded(withoutZeros(text), () => new TextDecoder('windows-1252'))
      break
    case 'utf-16':
      text = transcoded(text, (start) => {
        const isBigEndian = start.subarray(0, UTF_16_BE_MARK.length).equals(UTF_16_BE_MARK)
        return new TextDecoder(isBigEndian ? 'utf-16be' : 'utf-16le', { fatal: true })
      })
      break
  }
  yield* delimiter === 'space' ? withSingleSpaces(text, quote) : text
}

/** Yields the same bytes. The first chunk is at least as long as a byte order mark, unless the text is shorter. */
async function* withLongStart(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of chunks) {
    if (start === undefined) {
      yield chunk
      continue
    }
    start = Buffer.concat([start, chunk])
    if (start.length < UTF_8_MARK.length) continue
    yield start
    start = undefined
  }
  if (start !== undefined) yield start
}

/** Yields the text without a byte order mark. */
async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isStart = true
  for await (const chunk of chunks) {
    const hasMark = isStart && chunk.subarray(0, UTF_8_MARK.length).equals(UTF_8_MARK)
    yield hasMark ? chunk.subarray(UTF_8_MARK.length) : chunk
    isStart = false
  }
}

/**
 * Yields the same bytes.
 * @throws Error for a zero byte, which occurs in UTF-16 and in no text in Latin-1.
 */
async function* withoutZeros(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    if (chunk.includes(0)) throw new Error('the text is not Latin-1')
    yield chunk
  }
}

/**
 * Yields the text in UTF-8.
 * @throws TypeError for bytes that do not fit the encoding.
 */
async function* transcoded(
  chunks: AsyncIterable<Buffer>,
  decoderFor: (start: Buffer) => TextDecoder,
): AsyncGenerator<Buffer> {
  let decoder: TextDecoder | undefined
  for await (const chunk of chunks) {
    decoder ??= decoderFor(chunk)
    yield Buffer.from(decoder.decode(chunk, { stream: true }))
  }
  yield Buffer.from(decoder?.decode() ?? '')
}

/**
 * Yields the text with single spaces between fields and no spaces at the ends of lines. Spaces in quotes stay.
 * A quote within a field counts as one that opens or closes; such a text is refused later.
 */
export async function* withSingleSpaces(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  quote: CsvDialect['quote'],
): AsyncGenerator<Buffer> {
  const quoteByte = quote === 'none' ? undefined : quote.charCodeAt(0)
  let isQuoted = false
  let isLineStart = true
  let isSpacePending = false
  for await (const chunk of chunks) {
    // A pending space of an earlier chunk may come in addition.
    const kept = Buffer.allocUnsafe(chunk.length + 1)
    let length = 0
    for (const byte of chunk) {
      if (byte === SPACE && !isQuoted) {
        isSpacePending = !isLineStart
        continue
      }
      const isLineEnd = !isQuoted && (byte === LINE_FEED || byte === CARRIAGE_RETURN)
      if (isSpacePending && !isLineEnd) {
        kept[length] = SPACE
        length += 1
      }
      isSpacePending = false
      isLineStart = isLineEnd
      if (byte === quoteByte) isQuoted = !isQuoted
      kept[length] = byte
      length += 1
    }
    yield kept.subarray(0, length)
  }
}
