import { afterAll, afterEach, beforeAll, test } from '@jest/globals';
import { openPolling, type RawPolling } from '../../../engine/support/raw.js';
import { connect, connected, disconnectAll, expectOk } from '../../../support/clients.js';
import { type ServiceHere as RunningServer, startServiceHere as startServer } from '../../../support/service-here.js';
import { until } from '../../../support/until.js';

const ROOM = 'hall';
const MEMBERS = 100;
const EVENTS = 20_000;

let server: RunningServer;

beforeAll(async () => {
  // Sessions that nobody polls would hold up the stop.
  server = await startServer({ WORKERS: '1', RATE_LIMIT: 'off', DRAIN_TIMEOUT: '0' });
});

afterEach(disconnectAll);

afterAll(() => server.stop());

/** Fills the room with users whose names are as long as names may be. */
async function fill(): Promise<void> {
  const names = Array.from({ length: MEMBERS }, (_, index) => `${index}`.padStart(64, '漢'));
  const clients = names.map((name) => connect(server.url, { auth: { name }, transports: ['websocket'] }));
  await Promise.all(clients.map(connected));
  for (const client of clients) expectOk(await client.emitWithAck('join', ROOM));
}

/** A client that speaks the protocol word by word, connected to the namespace. */
async function raw(): Promise<RawPolling> {
  const polling = await openPolling(`${server.url}/socket.io/?EIO=4`);
  await polling.post('40');
  await polling.poll();
  return polling;
}

const asks = (event: string, input: unknown, count: number) =>
  Array.from({ length: count }, (_, id) => `42${id}${JSON.stringify([event, input])}`);

test('20,000 who in one POST do not block the worker', async () => {
  await fill();
  const other = connect(server.url, { transports: ['websocket'] });
  await connected(other);
  // On a busy machine, this process may get no time before the server has handled all of the POST.
  await until(async () => {
    const attacker = await raw();
    let isDone = false;
    const posted = attacker.post(asks('who', ROOM, EVENTS).join('\x1e')).finally(() => {
      isDone = true;
    });
    // Each answer comes in a turn of the event loop between two slices of the POST.
    let answered = 0;
    while (!isDone && answered < 2) {
      await other.emitWithAck('echo', 'x');
      answered++;
    }
    await posted;
    return answered === 2;
  });
});

test('the bound does not apply to messages', async () => {
  const client = connect(server.url, { transports: ['websocket'] });
  await connected(client);
  expectOk(await client.emitWithAck('join', 'yard'));
  const posts = Array.from({ length: 150 }, () => client.emitWithAck('message', { room: 'yard', text: 'x' }));
  for (const reply of await Promise.all(posts)) expectOk(reply);
});
