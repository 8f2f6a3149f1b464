const encoder = new TextEncoder()

/** True if the browser lets the page compute hashes. It does so only over HTTPS and on the machine of the service. */
export function canDigest(): boolean {
  return globalThis.crypto?.subtle !== undefined
}

/** Computes the SHA-256 of a text's UTF-8, in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text))))
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
