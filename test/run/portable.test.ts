import { request } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { runApp, stopAll } from './support/application.js';

afterEach(stopAll);

/** Resolves with how a request on a connection of its own has ended. */
function ask(url: string): Promise<string> {
  return new Promise((resolve) => {
    const asked = request(url, { agent: false }, (response) => {
      response.resume();
      response.once('end', () => resolve('answered'));
    });
    asked.once('error', ({ message }) => resolve(message));
    asked.end();
  });
}

test('with portable sockets, no connection hangs that was on its way to a worker when it was killed', async () => {
  const app = await runApp('chat.mjs', { env: { GJALLAR_SOCKETS: 'portable' } });
  let isOver = false;
  let answered = 0;
  const ends: string[] = [];
  const asking = Array.from({ length: 60 }, async () => {
    while (!isOver) {
      const end = await ask(`${app.url}/pid`);
      if (end === 'answered') answered++;
      else ends.push(end);
    }
  });
  await until(() => answered > 500);
  const { workers } = (await (await fetch(`${app.admin}/api/stats`)).json()) as { workers: { pid: number }[] };
  process.kill(workers[0]!.pid, 'SIGKILL');
  await app.logged(({ msg }) => msg === 'a worker died and will be replaced');
  isOver = true;
  await Promise.all(asking);
  for (const end of ends) expect(end).toMatch(/socket hang up|ECONNRESET/);
}, 60_000);
