/** The client broke the rules of the protocol, so that the rest of its bytes cannot be understood. */
export class ProtocolViolation extends Error {}

/** Reads the fields of a message, in their order. */
export interface FieldReader {
  /** Reads a text that ends with a NUL byte. */
  text(): string
  int16(): number
  int32(): number
  bytes(length: number): Buffer
  /** The number of bytes that are not read. */
  left(): number
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes a text.
 * @throws ProtocolViolation if it is no UTF-8
 */
export function decodeText(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new ProtocolViolation('a text is not valid UTF-8')
  }
}

/** Reads the fields of a message. Each read throws ProtocolViolation for a message that is too short. */
export function readFields(message: Buffer): FieldReader {
  let at = 0
  const advance = (length: number): number => {
    const from = at
    if (length < 0 || from + length > message.length)
      throw new ProtocolViolation('a message is shorter than its fields')
    at = from + length
    return from
  }
  return {
    text() {
      const end = message.indexOf(0, at)
      if (end < 0) throw new ProtocolViolation('a text does not end')
      const text = decodeText(message.subarray(at, end))
      at = end + 1
      return text
    },
    int16: () => message.readInt16BE(advance(2)),
    int32: () => message.readInt32BE(advance(4)),
    bytes(length) {
      const from = advance(length)
      return message.subarray(from, from + length)
    },
    left: () => message.length - at,
  }
}

/** Reads as many items as a count states. The message bounds their number, because each takes at least a byte of it. */
export function readList<Item>(count: number, read: () => Item): Item[] {
  if (count < 0) throw new ProtocolViolation('a number of fields is negative')
  const items: Item[] = []
  for (let index = 0; index < count; index += 1) items.push(read())
  return items
}
