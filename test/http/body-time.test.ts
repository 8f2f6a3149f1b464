import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import fastify, { type FastifyReply } from 'fastify'
import { expect, test } from 'vitest'
import { limitBodyTime } from '../../src/http/body-time.ts'

async function listen() {
  const app = fastify()
  const watchBody = limitBodyTime({ totalMs: 300 })
  app.addHook('onRequest', async (request, reply) => watchBody(request, reply))
  app.post('/short', async () => 'done')
  const limited = (idleMs: number) => ({ config: { bodyTime: { totalMs: 600_000, idleMs } } })
  const refuse = { onRequest: async (_request: unknown, reply: FastifyReply) => reply.code(403).send() }
  app.post('/refused', refuse, async () => 'done')
  app.post('/long-refused', { ...limited(60_000), ...refuse }, async () => 'done')
  app.post('/long', limited(60_000), async () => 'done')
  app.post('/idle', limited(300), async () => 'done')
  await app.listen({ port: 0 })
  return { app, port: (app.server.address() as AddressInfo).port }
}

/** Sends a body of some bytes with pauses, and returns the status. */
async function send(port: number, path: string, pausesMs: readonly number[]): Promise<number | undefined> {
  const headers = { 'content-type': 'text/plain', 'content-length': pausesMs.length + 1 }
  const sending = request({ port, path, method: 'POST', headers })
  const answered = once(sending, 'response')
  sending.on('error', () => undefined)
  sending.write('x')
  for (const pauseMs of pausesMs) {
    await Promise.race([setTimeout(pauseMs), answered])
    sending.write('x')
  }
  const [response] = await answered
  response.resume()
  return response.statusCode
}

test('a body that stops arriving is answered with 408', async () => {
  const { app, port } = await listen()
  const never = 1_000_000
  expect(await Promise.all(['/short', '/idle'].map((path) => send(port, path, [never])))).toEqual([408, 408])
  await app.close()
})

test('a body that arrives slowly is accepted only where the route allows it', async () => {
  const { app, port } = await listen()
  const slow = Array.from({ length: 40 }, () => 20)
  expect(await send(port, '/long', slow)).toBe(200)
  expect(await send(port, '/short', slow)).toBe(408)
  await app.close()
})

test('a connection ends if the body of an answered request does not', async () => {
  const { app, port } = await listen()
  const headers = { 'content-type': 'text/plain', 'content-length': 100 }
  const sending = request({ port, path: '/refused', method: 'POST', headers })
  sending.on('error', () => undefined)
  sending.write('x')
  const [response] = await once(sending, 'response')
  expect(response.statusCode).toBe(403)
  response.resume()
  await once(sending, 'close')
  await app.close()
})

test('attack: a caller without the role sends a body for as long as an upload may take', async () => {
  const { app, port } = await listen()
  const headers = { 'content-type': 'text/plain', 'content-length': 1_000_000_000 }
  const sending = request({ port, path: '/long-refused', method: 'POST', headers })
  const statuses: (number | undefined)[] = []
  // A client that is slow to read sees a reset connection instead of the answer.
  sending.on('error', () => undefined)
  sending.on('response', (response) => {
    statuses.push(response.statusCode)
    response.resume()
  })
  const closed = once(app.server, 'connection').then(([socket]) => once(socket, 'close'))
  const writing = setInterval(() => sending.write('x'), 20)
  await closed
  clearInterval(writing)
  expect(statuses.every((status) => status === 403)).toBe(true)
  await app.close()
})
