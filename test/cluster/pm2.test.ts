import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect, disconnectAll, expectOk, nextEvent, upgraded } from '../support/clients.js';
import { freePort } from '../support/ports.js';
import { isAlive, untilGone } from '../support/process.js';
import { cleanEnvironment } from '../support/server.js';
import { expectOnceAndInOrder } from '../support/talk.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = createRequire(import.meta.url).resolve('pm2/bin/pm2');

/** What `pm2 jlist` tells of a process. */
interface Listed {
  name: string;
  pid: number;
  pm2_env: { status: string; exec_mode: string; restart_time: number };
}

describe('pm2', () => {
  // Daemon, sockets, logs: all of pm2 is in here.
  const home = mkdtempSync(join(tmpdir(), 'gjallar-pm2-'));
  let environment: Record<string, string>;
  let url: string;

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    environment = {
      ...cleanEnvironment(),
      PM2_HOME: home,
      PM2_DISABLE_VERSION_CHECK: 'true',
      ...{ HOST: '127.0.0.1', PORT: String(port), WORKERS: '2', DATA_DIR: join(home, 'data') },
    };
  });

  afterAll(async () => {
    // Where a test has failed, the daemon is still there, with the server under it.
    if (existsSync(join(home, 'pm2.pid'))) await pm2('kill');
    rmSync(home, { recursive: true, force: true });
  });

  async function pm2(...args: string[]): Promise<string> {
    const options = { cwd: root, env: environment };
    return (await promisify(execFile)(process.execPath, [program, ...args], options)).stdout;
  }

  async function listed(): Promise<Listed | undefined> {
    // Before the list, pm2 may tell that it starts its daemon.
    const output = await pm2('jlist');
    const list = JSON.parse(output.slice(output.lastIndexOf('\n[') + 1)) as Listed[];
    return list.find(({ name }) => name === 'gjallar');
  }

  test('starts the server, reloads it, ends it in order, and forgets it', async () => {
    // It returns when all workers listen.
    await pm2('start', 'ecosystem.config.js');
    const daemon = Number(readFileSync(join(home, 'pm2.pid'), 'utf8'));
    const response = await fetch(`${url}/readyz`);
    expect(await response.json()).toMatchObject({ state: 'ready' });
    expect((await listed())?.pm2_env).toMatchObject({ status: 'online', exec_mode: 'fork_mode', restart_time: 0 });

    // A reload replaces the server, and its clients come back and go on talking.
    const clients = Array.from({ length: 6 }, () => connect(url, { reconnectionDelay: 50, reconnectionDelayMax: 200 }));
    await Promise.all(clients.map(upgraded));
    const before = (await listed())!.pid;
    const back = clients.map((client) => nextEvent(client, 'connect'));

    await pm2('reload', 'ecosystem.config.js');
    await Promise.all(back);
    const after = (await listed())!.pid;
    expect(after).not.toBe(before);
    expect([before, after].map(isAlive)).toEqual([false, true]);
    for (const client of clients) expectOk(await client.emitWithAck('join', 'hall'));
    await expectOnceAndInOrder(clients, 'hall', 3);
    disconnectAll();

    await pm2('stop', 'gjallar');
    expect(isAlive(after)).toBe(false);
    await expect(fetch(url)).rejects.toThrow();
    expect((await listed())!.pm2_env.status).toBe('stopped');
    const log = readFileSync(join(home, 'pm2.log'), 'utf8');
    expect(log).toMatch(/App \[gjallar:0\] exited with code \[0\] via signal \[SIGINT\]/);
    expect(log).not.toMatch(/still alive|SIGKILL/);

    await pm2('delete', 'gjallar');
    expect(await listed()).toBeUndefined();
    await pm2('kill');
    await untilGone(daemon);
  });
});
