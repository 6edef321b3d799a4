import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { own } from '../../../support/children.js';
import { Lines } from '../../../support/lines.js';
import { cleanEnvironment, type LogLine } from '../../../support/server.js';

const ownMain = fileURLToPath(new URL('../../../../dist/main.js', import.meta.url));
const apps = fileURLToPath(new URL('../apps/', import.meta.url));

export interface RunningApplication {
  readonly process: ChildProcess;
  readonly greeting: string;
  /** The first port that the application listens on. */
  readonly port: number;
  readonly ports: readonly number[];
  readonly url: string;
  /** The port for operators, if `ADMIN_PORT` is set. */
  readonly admin: string;
  /** All lines of the standard output that are no log lines, and those of the standard error. */
  readonly output: readonly string[];
  /** Resolves with the first such line, past or to come. */
  said(pattern: RegExp): Promise<string>;
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  stop(): Promise<number | null>;
}

const defaults = { WORKERS: '2', RATE_LIMIT: 'off', ADMIN_PORT: '0', RELOAD_SETTLE: '50ms' };
const open: (() => Promise<unknown>)[] = [];

/** Stops the applications of the test. */
export async function stopAll(): Promise<void> {
  await Promise.all(open.splice(0).map((stop) => stop()));
}

/** The path of an application of these tests. */
export function pathOf(app: string): string {
  return resolve(apps, app);
}

/** Runs an application of these tests with `gjallar run`, until all its workers listen. */
export async function runApp(
  app: string,
  { args = [], env = {}, main = ownMain }: { args?: string[]; env?: Record<string, string>; main?: string } = {},
): Promise<RunningApplication> {
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-run-'));
  const child = own(
    spawn(process.execPath, [main, 'run', pathOf(app), ...args], {
      env: { ...cleanEnvironment(), ...defaults, TMPDIR: directory, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    }),
  );
  const log = new Lines<LogLine>();
  const output = new Lines<string>();
  for (const stream of [child.stdout!, child.stderr!]) {
    createInterface(stream).on('line', (line) => {
      if (line.startsWith('{"level"')) log.add(JSON.parse(line) as LogLine);
      else output.add(line);
    });
  }
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const code = await ended;
    rmSync(directory, { recursive: true, force: true });
    return code;
  };
  open.push(stop);
  const said = (pattern: RegExp) => output.first((line) => pattern.test(line));
  const logged = (fits: (line: LogLine) => boolean) => log.first(fits);
  const failed = ended.then((code) => {
    throw new Error(`the application ended with ${code}: ${output.all.join('\n')}`);
  });
  const started = await Promise.race([logged(({ msg }) => msg?.startsWith('gjallar: ') ?? false), failed]);
  const greeting = started.msg!;
  failed.catch(() => {});
  const isAdminOn = env.ADMIN_PORT !== '';
  const adminPort = isAdminOn && (await logged(({ msg }) => msg === 'the admin port is open')).port;
  const ports = (/on port ([\d, ]+) with/.exec(greeting)?.[1] ?? '').split(', ').map(Number);
  return {
    process: child,
    greeting,
    port: ports[0]!,
    ports,
    url: `http://127.0.0.1:${ports[0]}`,
    admin: `http://127.0.0.1:${adminPort}`,
    output: output.all,
    said,
    logged,
    stop,
  };
}
