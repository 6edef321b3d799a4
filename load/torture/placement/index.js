import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../harness/ports.js';
import { atExit } from '../../harness/process/at-exit.js';
import { familyOf } from '../../harness/process/processes.js';
import { startProxy } from '../../harness/servers/proxy.js';
import { Redis } from '../../harness/servers/redis.js';
import { Announcer } from '../support/announcer.js';
import { Hosted } from '../support/hosted.js';
import { progress } from '../support/scenario.js';
import { Residents } from './residents.js';

export const about =
  'a rolling restart and a killed machine under placed clients: numbers lost and repeated, and who is in place';

export const options = {
  'times n': 'number of rolling restarts before the machine is killed (3; 1 with --short)',
  'minutes n': 'has no effect',
};

const HOST = '127.0.0.1';
const MACHINES = 2;
/** How many clients are to be in their place, and within which time. */
const SHARE = 0.95;
const WITHIN_MS = 30_000;
/** The short form has a machine that does other things, and asserts no times. */
const PATIENCE_MS = 90_000;
/** Within this time, a new client comes to each room, so that the workers see where the proxy sends its clients. */
const VISITS_MS = 5000;
const LOOK_MS = 500;

export async function run({ short, times = short ? 1 : 3 }) {
  const clients = short ? 40 : 1000;
  const rooms = Array.from({ length: clients / 10 }, (_, index) => `room-${index}`);
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-placement-'));
  atExit(() => rmSync(directory, { recursive: true, force: true }));
  const redis = await Redis.start({ settings: [] });
  const machines = [];
  for (let index = 0; index < MACHINES; index++) {
    machines.push(await Machine.start({ workers: short ? 1 : 2, redisUrl: redis.url, drain: short ? '1s' : '5s' }));
  }
  const addresses = machines.flatMap((machine) => machine.ports).map((port) => `${HOST}:${port}`);
  const proxy = await startProxy(directory, HOST, addresses, 'place');
  if (!proxy) throw new Error('haproxy is not installed');
  const url = `http://${HOST}:${proxy.port}`;
  const residents = new Residents(url);
  await residents.settle(clients, rooms);
  const settle = (when) => settled(residents, rooms, when, short ? {} : { within: WITHIN_MS });
  const roomOf = (number) => rooms[number % rooms.length];
  const speaker = new Announcer((number) => `${url}/say?room=${roomOf(number)}&number=${number}`, short ? 50 : 20);
  const figures = [];
  try {
    for (let count = 1; count <= times; count++) {
      for (const machine of machines) {
        progress(`rolling restart ${count}`);
        await machine.restart();
        await residents.untilConnected(PATIENCE_MS);
      }
      figures.push(...(await settle(`after rolling restart ${count}`)));
    }
    progress('a machine is killed');
    residents.orphan(machines[1].processes);
    machines[1].kill();
    figures.push(...(await settle('after the death of a machine')));
    await speaker.stop();
    await sleep(2000);
    // Some clients may be on their way to another worker.
    await residents.untilConnected(PATIENCE_MS);
    const said = new Map(rooms.map((room) => [room, []]));
    for (const number of speaker.confirmed.keys()) said.get(roomOf(number)).push(number);
    figures.push(...totals(residents, said, short));
    for (const repeat of residents.repeats) console.error(`repeated: ${repeat}`);
  } finally {
    progress('');
    residents.close();
    await speaker.stop();
    await machines[0].stop();
    machines[1].kill();
    proxy.child.kill();
    await redis.stop();
  }
  return figures;
}

/**
 * New clients show where the proxy sends the rooms now. Then the others follow.
 * @param {{ within?: number }} options the time in ms in which they are to; none where times are not asserted
 */
async function settled(residents, rooms, when, { within }) {
  const start = performance.now();
  const patience = within ?? PATIENCE_MS;
  await residents.untilConnected(patience);
  const before = await residents.inPlace();
  let share = 0;
  let visited = 0;
  while (share < SHARE && performance.now() - start < patience) {
    const due = Math.ceil(((performance.now() - start) / VISITS_MS) * rooms.length);
    const next = Array.from({ length: due - visited }, (_, index) => rooms[(visited + index) % rooms.length]);
    residents.visit(next);
    visited = due;
    await sleep(LOOK_MS);
    share = await residents.inPlace();
  }
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  return [
    { name: `in place ${when}, before new clients come`, value: Math.round(before * 100), unit: '%' },
    { name: `in place ${when}`, value: Math.round(share * 100), unit: '%', least: 100 * SHARE },
    {
      name: `time until most are in place ${when}`,
      value: seconds,
      unit: 's',
      ...(within && { most: within / 1000 }),
    },
  ];
}

function totals(residents, said, short) {
  return [
    { name: 'clients', value: residents.size },
    { name: 'not connected at the end', value: residents.disconnected, most: 0 },
    { name: 'reconnects', value: residents.reconnects },
    { name: 'reconnects with the same session', value: residents.recovered },
    { name: 'new sessions because their machine was killed', value: residents.lostWithMachine },
    {
      name: 'other new sessions',
      value: residents.reconnects - residents.recovered - residents.lostWithMachine,
      // A client that comes to the machine just before its death is not counted with it; a machine that is busy lends late.
      ...(!short && { most: 0 }),
    },
    { name: 'deliveries', value: residents.deliveries, least: 1 },
    { name: 'lost in a session', value: residents.lost(said), most: 0 },
    { name: 'repeated', value: residents.repeats.length, most: 0 },
  ];
}

const app = fileURLToPath(new URL('app.mjs', import.meta.url));

/** An application on the workers of one machine, each on a port of its own. */
class Machine {
  #hosted;

  static async start(options) {
    const machine = new Machine();
    machine.options = options;
    // Ports in a row, which nobody else asks for meanwhile.
    const first = await freePort();
    machine.ports = Array.from({ length: options.workers }, (_, index) => first + index);
    await machine.#begin();
    return machine;
  }

  async #begin() {
    const { workers, redisUrl, drain } = this.options;
    const environment = {
      ...{ REDIS_URL: redisUrl, PLACE: 'room', PLACE_MOVES: 'true', WORKER_PORTS: String(this.ports[0]) },
      ...{ TRUST_PROXY: '1', DRAIN_TIMEOUT: drain, MAX_CONNECTIONS_PER_IP: '0' },
    };
    this.#hosted = await Hosted.start({ app, workers, environment });
  }

  async restart() {
    await this.#hosted.stop();
    await this.#begin();
  }

  get processes() {
    return familyOf(this.#hosted.primary);
  }

  kill() {
    for (const pid of this.processes) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
  }

  stop() {
    return this.#hosted.stop();
  }
}
