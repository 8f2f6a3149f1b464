import { chmod, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'

/*
 * The channel from the command line to a running service: a Unix socket in the data folder that only the owner of the
 * folder can use. A request is one line of JSON, and so is its reply.
 */

/** A request to a running service to copy its ledger to a new file. */
interface ControlRequest {
  readonly backupFile: string
}

interface ControlReply {
  /** Missing if the request was carried out. */
  readonly error?: string
}

/** Longest path of a Unix socket, in bytes, on every supported system. */
const LONGEST_PATH_BYTES = 103

function socketPath(dataDirectory: string): string {
  return path.join(dataDirectory, 'control.sock')
}

/** True if the path of the data folder is short enough for the socket. */
export function canControl(dataDirectory: string): boolean {
  return Buffer.byteLength(socketPath(dataDirectory)) <= LONGEST_PATH_BYTES
}

/**
 * Serves the socket of a data folder. Replaces a socket that a crashed process left behind, so no other process may serve
 * the folder.
 * @returns a function that closes the socket
 */
export async function serveControl(
  dataDirectory: string,
  backup: (file: string) => Promise<void>,
): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    createInterface({ input: socket }).once('line', async (line) => {
      const reply = await carryOut(line, backup)
      socket.end(`${JSON.stringify(reply)}\n`)
    })
  })
  const file = socketPath(dataDirectory)
  await rm(file, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(file, resolve)
  })
  await chmod(file, 0o600)
  server.unref()
  return async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
}

async function carryOut(line: string, backup: (file: string) => Promise<void>): Promise<ControlReply> {
  try {
    const { backupFile }: Partial<ControlRequest> = JSON.parse(line)
    if (typeof backupFile !== 'string' || !path.isAbsolute(backupFile))
      return { error: 'the request names no file for the backup' }
    await backup(backupFile)
    return {}
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/**
 * Asks the service of a data folder to copy its ledger.
 * @returns false if no service uses the folder
 * @throws Error if the service cannot copy it.
 */
export async function requestBackup(dataDirectory: string, backupFile: string): Promise<boolean> {
  const socket = connect(socketPath(dataDirectory))
  const line = await new Promise<string | undefined>((resolve, reject) => {
    socket.once('error', (error: NodeJS.ErrnoException) =>
      ['ENOENT', 'ECONNREFUSED'].includes(String(error.code)) ? resolve(undefined) : reject(error),
    )
    socket.once('connect', () => socket.write(`${JSON.stringify({ backupFile } satisfies ControlRequest)}\n`))
    const lines = createInterface({ input: socket })
    // The error of a socket is emitted by its reader, too.
    lines.on('error', () => undefined)
    lines.once('line', resolve)
    socket.once('end', () => reject(new Error('the service ended before the backup was complete')))
  })
  socket.destroy()
  if (line === undefined) return false
  const { error }: ControlReply = JSON.parse(line)
  if (error !== undefined) throw new Error(error)
  return true
}
