import { once } from 'node:events';
import { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, Server as NetServer } from 'node:net';
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
