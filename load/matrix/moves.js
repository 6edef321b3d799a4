import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pace, stopPacing } from '../generator/pace.js';
import { soon, until } from '../harness/until.js';
import { Crowd } from '../torture/support/crowd.js';
import { cleaningUp, counted } from '../torture/support/scenario.js';
import { Service } from '../torture/support/service.js';

const CLIENTS = 12;
const WAYS = [['websocket'], ['websocket'], ['websocket'], ['polling']];
/** How many texts all clients say in a second. Each hears each. */
const PER_SECOND = 60;
const MAX_WAIT_MS = 30_000;

/** The application with `connectionStateRecovery`, which clients need to move, in a file beside its own. */
function withRecovery(path) {
  const text = readFileSync(path, 'utf8');
  const changed = text.replace(/new Server\(([\w.]+)\)/, 'new Server($1, { connectionStateRecovery: {} })');
  if (changed === text) throw new Error('there is no Server without options in the file');
  const file = join(dirname(path), `moving-${process.pid}-${path.split('/').at(-1)}`);
  writeFileSync(file, changed);
  return file;
}

/**
 * Reloads an application twice while its clients talk. They must move, and hear everything once and in order.
 * @param {{ path: string, env?: Record<string, string>, talk: import('./applications.js').Talk }} application
 * @returns {Promise<{ compared: number, differences: string[] }>} as `compare`
 */
export function move({ path, env, talk: { first, say } }) {
  return cleaningUp(async (use) => {
    const app = withRecovery(path);
    use(() => rmSync(app));
    const environment = { HOSTNAME: '127.0.0.1', GJALLAR_SOCKETS: 'portable', DRAIN_TIMEOUT: '20s', ...env };
    const server = use(await Service.host({ workers: 1, app, environment }));
    const page = async () => (await fetch(server.url)).status;
    const pageBefore = await page();
    const crowd = use(new Crowd(), 'close');
    const said = [];
    for (let index = 0; index < CLIENTS; index++) {
      const options = { transports: WAYS[index % WAYS.length], auth: { token: 'right' } };
      const client = crowd.add(server.url, options);
      client.socket.on('said', (text) => {
        const [lane, key] = text.split(' ').map(Number);
        crowd.hear(client, 'said', { lane, key });
      });
    }
    await until(() => crowd.disconnected === 0, `clients do not connect: ${crowd.errors.at(-1)}`);
    if (first) await Promise.all(crowd.clients.map(({ socket }) => socket.emitWithAck(...first)));
    use(stopPacing);
    pace(PER_SECOND, () => {
      const key = said.push(said.length) - 1;
      const lane = key % CLIENTS;
      crowd.clients[lane].socket.emit(...say, `${lane} ${key}`);
    });
    const lost = () => crowd.lacking(() => said);
    await until(() => crowd.clients.every(({ last }) => last !== undefined), 'clients hear nothing');
    const ends = [];
    for (let times = 0; times < 2; times++) ends.push((await server.reload()).msg);
    stopPacing();
    await soon(() => lost() === 0, MAX_WAIT_MS);
    const found = {
      reloads: [counted(ends), '2 × reload finished'],
      moves: [crowd.moves, 2 * CLIENTS],
      disconnects: [counted(crowd.returns.map(({ reason }) => reason)), 'none'],
      'lost, repeated, out of order': [[lost(), crowd.repeated, crowd.outOfOrder()].join(), '0,0,0'],
      'status of the page': [await page(), pageBefore],
    };
    const wrong = Object.entries(found).filter(([, [is, must]]) => is !== must);
    const differences = wrong.map(([name, [is, must]]) => `${name}: ${is} instead of ${must}`);
    return { compared: crowd.deliveries, differences };
  });
}
