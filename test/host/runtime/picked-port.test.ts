import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions, Server as NetServer } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { SharedPorts } from '../../../src/cluster/primary/ports.js';
import { SharedListening } from '../../../src/io/server/listen/shared-listening.js';

const HOST = '127.0.0.1';
const { listen } = NetServer.prototype;
const { close } = HttpServer.prototype;
const closers: (() => void)[] = [];

afterEach(() => {
  for (const end of closers.splice(0)) end();
  NetServer.prototype.listen = listen;
  HttpServer.prototype.close = close;
});

async function take(port: number): Promise<number> {
  const server = createServer().listen(port, HOST);
  closers.push(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test('a picked port that another process has taken is replaced, by the same one for all workers', async () => {
  const ports = new SharedPorts();
  const claim = async (taken?: number) => (await ports.claim({ host: HOST, port: 0, turn: 0, taken })).local!.port;
  const first = await claim();
  await take(first);
  const [second, other] = await Promise.all([claim(first), claim(first)]);
  expect(second).not.toBe(first);
  expect([other, await claim(), await claim(first)]).toEqual([second, second, second]);
  expect(ports.addresses.map(({ port }) => port)).toEqual([second]);
});

test('a server of an application listens on another port if the picked one is taken', async () => {
  const ports = new SharedPorts();
  const opened: AddressInfo[] = [];
  const listening = new SharedListening(
    async (address) => {
      const { local } = await ports.claim({ host: HOST, ...address });
      if (!opened.length) await take(local!.port);
      opened.push(local!);
      return local!;
    },
    () => {},
    () => {},
  );
  listening.install();
  const server = new HttpServer();
  const taken: number[] = [];
  listening.own(server, {
    // As for a real owner, the port of another process cannot be listened on.
    listenShared({ port }) {
      const isTaken = opened.length === 1;
      if (isTaken) taken.push(port);
      return !isTaken;
    },
    takesPort: true,
    retire() {},
    isIdle: true,
  });
  server.listen(0);
  await once(server, 'listening');
  expect(taken).toEqual([opened[0]!.port]);
  expect(opened[1]!.port).not.toBe(opened[0]!.port);
});

test.each<[what: string, wanted: unknown[], backlog: number | undefined]>([
  ['after the host', [0, HOST, 7], 7],
  ['after the port', [0, 7], 7],
  ['among options', [{ port: 0, backlog: 7 }], 7],
  ['not at all', [0], undefined],
])('node:http gets the backlog that an application gives %s', async (_what, wanted, backlog) => {
  const ports = new SharedPorts();
  const claim = async ({ port, turn }: { port: number; turn: number }) =>
    (await ports.claim({ host: HOST, port, turn })).local!;
  const listening = new SharedListening(
    claim,
    () => {},
    () => {},
  );
  listening.install();
  const server = new HttpServer();
  closers.push(() => server.close());
  listening.own(server, { listenShared: () => false, takesPort: false, retire() {}, isIdle: true });
  const given: (number | undefined)[] = [];
  const begins = channel('tracing:net.server.listen:asyncStart');
  const onBegin = (message: unknown) => {
    const { server: one, options } = message as { server: unknown; options: ListenOptions };
    if (one === server) given.push(options.backlog);
  };
  begins.subscribe(onBegin);
  closers.push(() => begins.unsubscribe(onBegin));
  (server.listen as (...args: unknown[]) => void)(...wanted);
  await once(server, 'listening');
  expect(given).toEqual([backlog]);
});
