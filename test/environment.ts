/**
 * The environment of the processes of tests: where programs are, and where Node keeps what it compiled, without which a service
 * takes twice as long to start. It has nothing else of the environment of the run.
 */
export const ENVIRONMENT: Readonly<Record<string, string>> = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE'].map((name) => [name, process.env[name] ?? '']),
)
