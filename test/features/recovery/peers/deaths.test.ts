import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '../../../support/until.js';
import type { Wanderer } from '../support/recovering.js';
import { RecoveringMachine, type RecoveringWorker } from '../support/recovering-machine.js';
import '../../../support/long.js';

/** `npm run test:night` sets ten. */
const DEATHS = Number(process.env.DEATHS ?? 3);

let machine: RecoveringMachine;

beforeEach(() => {
  machine = new RecoveringMachine();
});

afterEach(() => machine.remove());

/** Resolves when each worker has told the others everything: what a worker has told last may die with it. */
async function untilAllTold(): Promise<void> {
  const workers = [...machine.workers.values()];
  const witnesses = await Promise.all(workers.map((worker) => machine.client(worker)));
  for (const worker of workers) worker.act('emit', { sender: 'fence' });
  await until(() => witnesses.every((witness) => witness.of('fence').length === workers.length));
  for (const witness of witnesses) witness.close();
}

test.each([2, 3, 4])(
  'clients keep their sessions while %d workers are killed, one after the other',
  async (count) => {
    for (let id = 1; id <= count; id++) await machine.start(id);
    const place = new Map<Wanderer, RecoveringWorker>();
    for (const transport of ['websocket', 'polling', 'websocket', 'polling'] as const) {
      const worker = [...machine.workers.values()][place.size % count]!;
      place.set(await machine.client(worker, 'room', transport), worker);
    }
    await untilAllTold();
    for (let death = 1; death <= DEATHS; death++) {
      const workers = [...machine.workers.values()];
      // The oldest one, and the newest one, which has got all that it has from the others.
      const victim = death % 3 === 0 ? workers.at(-1)! : workers[0]!;
      const [survivor] = workers.filter((worker) => worker !== victim);
      const cut = [...place].filter(([, worker]) => worker === victim).map(([client]) => client);
      const gone = cut.map(({ socket }) => new Promise((resolve) => socket.once('disconnect', resolve)));
      await machine.kill(victim);
      survivor!.act('emit', { room: 'room', sender: 'room', as: death });
      await Promise.all(gone);
      for (const client of cut) {
        await client.comeBack(survivor!.url);
        expect({ death, recovered: client.recovered }).toEqual({ death, recovered: client.recovered.map(() => true) });
        place.set(client, survivor!);
        // From then on, nothing happens to the session. The next worker must hear of it all the same.
        survivor!.act('tell', { sid: client.socket.id, number: death });
      }
      for (const client of place.keys()) await until(() => client.of('room').length === death);
      for (const client of cut) await until(() => client.of('own').at(-1) === death);
      await machine.start(count + death);
      await untilAllTold();
    }
    for (const client of place.keys()) {
      expect(client.of('room')).toEqual(Array.from({ length: DEATHS }, (_, at) => at + 1));
      expect(client.of('own')).toEqual([...new Set(client.of('own'))]);
    }
  },
  120_000,
);
