import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cleanEnvironment, ON_LOOPBACK, program, RunningService } from './service.js';
import { shared } from './shared.js';

export { cleanEnvironment } from './service.js';
export type LogLine = import('./service.js').LogLine;
export type RunningServer = RunningService;

/**
 * Starts the service, as `npm start` does after the build, on a free port of the loopback interface.
 * @param through a command that runs the rest of its arguments, and passes SIGTERM on
 */
export function startServer(
  environment: Record<string, string> = {},
  through: readonly string[] = [],
): Promise<RunningServer> {
  // A test is one client that does the work of many; those of the limits set their own.
  const defaults = {
    WORKERS: '2',
    RATE_LIMIT: 'off',
    MAX_CONNECTIONS_PER_IP: '0',
    RELOAD_SETTLE: '50ms',
    // Clients leave over all of it.
    DRAIN_TIMEOUT: '2s',
  };
  const env = { ...cleanEnvironment(), ...ON_LOOPBACK, ...defaults, ...environment, PORT: '0' };
  return new RunningService({ env, through }).start();
}

/** A server for all tests of a block. */
export const sharedServer = (...given: Parameters<typeof startServer>): RunningServer =>
  shared(
    () => startServer(...given),
    (server) => server.stop(),
  );

/** Runs the service with arguments until it ends by itself. */
export async function runToEnd(
  args: string[],
  environment: Record<string, string> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...cleanEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // One that does start must not outlive the test.
    timeout: 60_000,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}
