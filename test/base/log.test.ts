import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { own } from '../support/children.js';
import { temporaryFolder } from '../support/folder.js';
import { freePort } from '../support/ports.js';
import { readinessOf } from '../support/reports.js';
import { cleanEnvironment } from '../support/server.js';
import { until } from '../support/until.js';

const built = new URL('../../build/base/log.js', import.meta.url).href;
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

const script = `
  const { createLog } = await import(process.argv[1]);
  const log = createLog('info', { process: 'primary' });
  process.stdin.once('data', () => {
    log.error('a line that is on its way');
    log.fatal('the primary is gone');
    process.exit(3);
  });
  process.stderr.write('ready');
`;

test('a process whose log has no reader any more ends', async () => {
  const child = own(
    spawn(process.execPath, ['--input-type=module', '-e', script, built], { stdio: ['pipe', 'pipe', 'pipe'] }),
  );
  await once(child.stderr!, 'data');
  child.stdout!.destroy();
  await once(child.stdout!, 'close');
  child.stdin!.write('go');
  expect(await once(child, 'exit')).toEqual([3, null]);
});

/** Logs to a terminal. */
const onTerminal = `
  process.stdout.isTTY = true;
  const { createLog } = await import(process.argv[1]);
  createLog('info', { process: 'primary' }).info({ clients: 3 }, 'it happened');
`;

test('on a terminal, lines are for people with pino-pretty, and JSON without it', async () => {
  const lineFrom = async (module: string) => {
    const child = own(spawn(process.execPath, ['--input-type=module', '-e', onTerminal, module], { stdio: 'pipe' }));
    const [line] = await once(createInterface(child.stdout!), 'line');
    await once(child, 'exit');
    return line as string;
  };
  expect(await lineFrom(built)).toMatch(/INFO.*it happened/);
  const folder = temporaryFolder();
  cpSync(new URL('../../build/base', import.meta.url), join(folder, 'build/base'), { recursive: true });
  cpSync(new URL('../../package.json', import.meta.url), join(folder, 'package.json'));
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(modules).filter((each) => each !== 'pino-pretty'))
    symlinkSync(join(modules, name), join(folder, 'node_modules', name));
  const line = await lineFrom(pathToFileURL(join(folder, 'build/base/log.js')).href);
  expect(JSON.parse(line)).toMatchObject({ level: 'info', clients: 3, msg: 'it happened' });
});

/** Fills the file of the log, then the buffer, and tells how many lines were dropped. */
const filling = `
  import { fstatSync } from 'node:fs';
  import { setImmediate as turn } from 'node:timers/promises';
  const { createLog, logOutput } = await import(process.argv[1]);
  const log = createLog('info', { process: 'primary' });
  const text = 'x'.repeat(1000);
  for (let line = 1; !logOutput.warning; line++) {
    const { size } = fstatSync(1);
    log.info({ line }, text);
    // The buffer must be empty when the file is full, however slow the disk is.
    while (!logOutput.warning && fstatSync(1).size === size) await turn();
  }
  const before = logOutput.dropped;
  while (logOutput.dropped < 100) log.info(text);
  console.error(before, logOutput.isFailing);
  process.stdin.once('data', () => {
    log.info('the end');
    process.exit(3);
  });
`;

test('lines wait while the log cannot be written; those that do not fit are dropped, counted, and told', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'log');
  // 512 or 1,024 bytes each, as the shell likes.
  const command = 'ulimit -f 4096; exec "$0" --input-type=module -e "$1" "$2" >> "$3"';
  const child = own(
    spawn('sh', ['-c', command, process.execPath, filling, built, file], { stdio: ['pipe', 'ignore', 'pipe'] }),
  );
  const [answer] = await once(createInterface(child.stderr!), 'line');
  expect(answer).toBe('0 true');
  const full = readFileSync(file, 'utf8');
  truncateSync(file, 0);
  // No further line is logged: the process tries again by itself.
  await until(() => readFileSync(file, 'utf8').includes('lines of the log were lost'));
  child.stdin!.write('go');
  expect(await once(child, 'exit')).toEqual([3, null]);
  const lines = (full + readFileSync(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const numbers = lines.flatMap(({ line }) => line ?? []);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  expect(lines.slice(-2)).toMatchObject([
    { level: 'warn', dropped: 100, msg: 'lines of the log were lost' },
    { msg: 'the end' },
  ]);
});

test('a server whose log has no space serves, warns, counts, and ends on SIGTERM', async () => {
  const [port, adminPort] = [await freePort(), await freePort()];
  const env = { ...cleanEnvironment(), PORT: `${port}`, ADMIN_PORT: `${adminPort}`, WORKERS: '2', LOG_LEVEL: 'debug' };
  const command = 'exec "$0" "$1" > /dev/full';
  const child = own(
    spawn('sh', ['-c', command, process.execPath, main], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  );
  await once(child, 'message');
  // It has sent "ready" only after lines that could not be written.
  const warning = 'the log cannot be written, or not fast enough: lines are lost';
  for (const one of [port, adminPort]) {
    const answer = await fetch(`http://127.0.0.1:${one}/readyz`);
    expect([answer.status, readinessOf(await answer.json())]).toMatchObject([
      200,
      { state: 'ready', warnings: [warning] },
    ]);
  }
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  expect(metrics).toMatch(/^gjallar_log_lines_dropped_total 0$/m);
  expect(metrics).toMatch(/^gjallar_unhandled_errors_total 0$/m);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
