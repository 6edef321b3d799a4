import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { own } from './children.js';
import { Lines } from './lines.js';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** What a server wrote to its log, as objects. */
export type LogLine = Record<string, unknown> & { msg?: string };

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** The primary's process. */
  readonly process: ChildProcess;
  /** The message that the start ends with. */
  readonly greeting: string;
  readonly log: readonly LogLine[];
  /** Resolves with the first log line, past or to come, that fits. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** The process id of a worker, which it logs when it listens. */
  pidOfWorker(worker: number): Promise<number>;
  /** Stops the server in order. Resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Stops it and starts it again on the same port. */
  restart(): Promise<void>;
}

/**
 * Starts the service, as `npm start` does after the build, on a free port of the loopback interface.
 * @param through a command that runs the rest of its arguments, and passes SIGTERM on
 */
export async function startServer(
  environment: Record<string, string> = {},
  through: readonly string[] = [],
): Promise<RunningServer> {
  const log = new Lines<LogLine>();
  const dataDir = await mkdtemp(join(tmpdir(), 'gjallar-test-'));
  let port = 0;
  let greeting = '';
  let child = await launch();

  async function launch(): Promise<ChildProcess> {
    // A test is one client that does the work of many; those of the limits set their own.
    const defaults = {
      HOST: '127.0.0.1',
      WORKERS: '2',
      DATA_DIR: dataDir,
      RATE_LIMIT: 'off',
      MAX_CONNECTIONS_PER_IP: '0',
      RELOAD_SETTLE: '50ms',
      // Clients leave over all of it.
      DRAIN_TIMEOUT: '2s',
    };
    const env = { ...cleanEnvironment(), ...defaults, ...environment, PORT: String(port) };
    const [command = process.execPath, ...args] = [...through, process.execPath];
    const started = own(spawn(command, [...args, main], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
    let errors = '';
    started.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    const listening = new Promise<number>((resolve, reject) => {
      createInterface(started.stdout).on('line', (line) => {
        const entry = JSON.parse(line) as LogLine;
        if (entry.msg?.startsWith('gjallar listens on ')) {
          greeting = entry.msg;
          resolve(entry.port as number);
        }
        log.add(entry);
      });
      started.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${errors}`)));
    });
    port = await listening;
    return started;
  }

  async function stop(): Promise<number | null> {
    const code = await end();
    await rm(dataDir, { recursive: true, force: true });
    return code;
  }

  async function end(): Promise<number | null> {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    // Its exit may be noticed before the last lines of its log are read.
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    const [code] = (await closed) as [number | null];
    return code;
  }

  const logged = (fits: (line: LogLine) => boolean) => log.first(fits);

  return {
    get url() {
      return `${environment.TLS_KEY ? 'https' : 'http'}://127.0.0.1:${port}`;
    },
    get port() {
      return port;
    },
    get process() {
      return child;
    },
    get greeting() {
      return greeting;
    },
    log: log.all,
    logged,
    pidOfWorker: async (worker) =>
      (await logged((line) => line.msg === 'listening' && line.worker === worker)).pid as number,
    stop,
    restart: async () => {
      await end();
      child = await launch();
    },
  };
}

/** Runs the service with arguments until it ends by itself. */
export async function runToEnd(
  args: string[],
  environment: Record<string, string> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [main, ...args], {
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

/**
 * The environment without what would configure the server by accident, or make it part of the test runner. The sockets are
 * those of the test.
 */
export function cleanEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR = '/tmp', GJALLAR_SOCKETS } = process.env;
  return { PATH, HOME, TMPDIR, ...(GJALLAR_SOCKETS && { GJALLAR_SOCKETS }) };
}
