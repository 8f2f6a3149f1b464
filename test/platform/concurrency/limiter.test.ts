import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createLimiter, LimiterFull } from '../../../src/platform/concurrency/limiter.ts'

/** Tasks that end when the test says so, and the order in which they began. */
function controlledTasks() {
  const begun: string[] = []
  const ends = new Map<string, ReturnType<typeof Promise.withResolvers<string>>>()
  const task = (name: string) => () => {
    begun.push(name)
    const end = Promise.withResolvers<string>()
    ends.set(name, end)
    return end.promise
  }
  return {
    begun,
    task,
    end: (name: string) => ends.get(name)?.resolve(name),
    fail: (name: string, error: Error) => ends.get(name)?.reject(error),
  }
}

test('as many tasks run as there are places; the others begin in order, as places become free', async () => {
  const limiter = createLimiter({ concurrency: 2 })
  const { begun, task, end } = controlledTasks()
  const results = ['a', 'b', 'c', 'd'].map((name) => limiter.run(task(name)))
  await setImmediate()
  expect(begun).toEqual(['a', 'b'])
  expect(limiter.running()).toBe(2)
  end('b')
  await setImmediate()
  expect(begun).toEqual(['a', 'b', 'c'])
  end('a')
  await setImmediate()
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
  end('c')
  end('d')
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd'])
  expect(limiter.running()).toBe(0)
})

test('a place passes to the waiting task, not to one that arrives at that moment', async () => {
  const limiter = createLimiter({ concurrency: 1 })
  const { begun, task, end } = controlledTasks()
  const first = limiter.run(task('first'))
  const second = limiter.run(task('second'))
  await setImmediate()
  end('first')
  await first
  const third = limiter.run(task('third'))
  await setImmediate()
  expect(begun).toEqual(['first', 'second'])
  end('second')
  await second
  await setImmediate()
  end('third')
  await third
})

test('a task that fails frees its place', async () => {
  const limiter = createLimiter({ concurrency: 1 })
  const { task, fail, end, begun } = controlledTasks()
  const failing = limiter.run(task('failing'))
  const thrown = limiter.run(() => {
    throw new Error('before any await')
  })
  const after = limiter.run(task('after'))
  await setImmediate()
  fail('failing', new Error('failed'))
  await expect(failing).rejects.toThrow('failed')
  await expect(thrown).rejects.toThrow('before any await')
  await setImmediate()
  expect(begun).toEqual(['failing', 'after'])
  end('after')
  expect(await after).toBe('after')
})

test('a signal ends the wait, and the task never begins', async () => {
  const limiter = createLimiter({ concurrency: 1 })
  const { begun, task, end } = controlledTasks()
  const leaving = new AbortController()
  const first = limiter.run(task('first'))
  const aborted = limiter.run(task('aborted'), leaving)
  const after = limiter.run(task('after'))
  leaving.abort(new Error('left'))
  await expect(aborted).rejects.toThrow('left')
  await expect(limiter.run(task('late'), leaving)).rejects.toThrow('left')
  end('first')
  await first
  await setImmediate()
  end('after')
  await after
  expect(begun).toEqual(['first', 'after'])
})

test('a task that has begun keeps its place until it settles, even if its signal aborts', async () => {
  const limiter = createLimiter({ concurrency: 1 })
  const { begun, task, end } = controlledTasks()
  const leaving = new AbortController()
  const first = limiter.run(task('first'), leaving)
  const second = limiter.run(task('second'))
  await setImmediate()
  leaving.abort()
  await setImmediate()
  expect(begun).toEqual(['first'])
  end('first')
  expect(await first).toBe('first')
  await setImmediate()
  end('second')
  await second
})

test('no more tasks wait than are allowed', async () => {
  const limiter = createLimiter({ concurrency: 1, maxWaiting: 1 })
  const { task, end } = controlledTasks()
  const first = limiter.run(task('first'))
  const leaving = new AbortController()
  const second = limiter.run(task('second'), leaving)
  await expect(limiter.run(task('third'))).rejects.toThrow(LimiterFull)
  leaving.abort()
  await expect(second).rejects.toThrow()
  const fourth = limiter.run(task('fourth'))
  end('first')
  await first
  await setImmediate()
  end('fourth')
  expect(await fourth).toBe('fourth')
})

test('a limiter is idle once no task runs and none waits', async () => {
  const limiter = createLimiter({ concurrency: 1 })
  await limiter.idle()
  const { task, end } = controlledTasks()
  const tasks = [limiter.run(task('first')), limiter.run(task('second'))]
  let isIdle = false
  const idle = limiter.idle().then(() => {
    isIdle = true
  })
  await setImmediate()
  end('first')
  await setImmediate()
  expect(isIdle).toBe(false)
  end('second')
  await Promise.all(tasks)
  await idle
})
