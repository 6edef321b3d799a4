import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type HubService, type HubServiceHost, hubServices } from '../../src/base/hub-service.js';
import { type HubAddress, openHub } from '../../src/cluster/hub/open.js';
import { HUB, Mesh } from '../../src/cluster/mesh/mesh.js';
import { channels, Node } from '../../src/cluster/node.js';
import { types } from '../../src/cluster/wire/types.js';
import type { RunConfig } from '../../src/host/config/options.js';
import { openNode, reportHub } from '../../src/host/runtime/machines/hub.js';
import { temporaryFolder } from '../support/folder.js';
import { RedisProcess, until } from '../support/redis.js';
import { Reported } from '../support/reports.js';
import { meshInProcess, turnWindow } from './support/hub-in-process.js';
import { hubThread } from './support/hub-thread.js';

const { state } = hubServices;

/** A service that notes what it hears. */
class Recorder implements HubService {
  readonly heard: string[] = [];

  constructor(readonly host: HubServiceHost) {}

  onWorkerHere(worker: number): void {
    this.heard.push(`worker ${worker} here`);
  }

  onWorkerGone(worker: number): void {
    this.heard.push(`worker ${worker} gone`);
  }

  onMessage(worker: number, message: Buffer): void {
    this.heard.push(`worker ${worker}: ${message}`);
    if (`${message}` === 'throw') throw new Error('thrown by the test');
    this.host.sendToWorker(worker, Buffer.from(`back: ${message}`));
  }

  onHubHere(hub: string): void {
    this.heard.push(`hub here`);
    this.host.sendToHub(hub, Buffer.from('hello'));
  }

  onHubGone(): void {
    this.heard.push(`hub gone`);
  }

  onHubMessage(_hub: string, message: Buffer): void {
    this.heard.push(`hub: ${message}`);
    this.host.sendToWorker(1, message);
  }

  close(): void {
    this.heard.push('close');
  }
}

let redis: RedisProcess;
let directory: string;

beforeAll(async () => {
  redis = await RedisProcess.start();
  directory = temporaryFolder();
});
afterAll(async () => {
  await redis.remove();
});

/** A machine with one worker, and what arrives at the worker. */
async function machine(name: string, prefix: string, begins = true) {
  const address: HubAddress = { server: 'redis', url: redis.url, prefix, withoutFrames: true };
  const { worker, hub: hubMesh } = meshInProcess();
  const client = new Node(worker, name, false);
  const services: Recorder[] = [];
  const loadService = () => (host: HubServiceHost) => services[services.push(new Recorder(host)) - 1]!;
  const hub = await openHub(address, { machine: name, mesh: hubMesh, window: turnWindow(), loadService });
  const arrived: string[] = [];
  client.on(channels.relay, 0, { onMessage: (from, bytes) => arrived.push(`${from}: ${bytes}`) });
  const service = client.service(state);
  service.listen({
    onHere: () => arrived.push('here'),
    onMessage: (bytes) => arrived.push(`service: ${bytes}`),
    onGone: () => arrived.push('gone'),
  });
  if (begins) service.send(Buffer.from('begin'));
  await client.health.whenUp();
  return { client, hub, arrived, services, recorder: services[0]! };
}

test('a service does not wait without end for a worker that keeps its event loop busy', async () => {
  const { worker, hub: mesh } = meshInProcess();
  const client = new Node(worker, 'machine1', true);
  const isLinked = new Promise<void>(() => {});
  let opened: HubServiceHost | undefined;
  const loadService = () => (host: HubServiceHost) => {
    opened = host;
    return new Recorder(host);
  };
  const hub = await openHub(undefined, { machine: 'machine1', mesh, window: turnWindow(), isLinked, loadService });
  client.service(state).send(Buffer.from('begin'));
  await until(() => opened !== undefined);
  await opened!.isLinked;
  hub.close();
});

test('a service begins with the message of another hub, if no worker has begun it', async () => {
  const one = await machine('machine1', 'begin');
  const two = await machine('machine2', 'begin', false);
  await until(() => two.services[0]?.heard.includes('hub: hello') === true);
  expect(two.services[0]!.heard).toEqual(['worker 1 here', 'hub here', 'hub: hello']);
  one.hub.close();
  two.hub.close();
});

test('a service hears the hubs of other machines, and its messages keep their order with the relay', async () => {
  const one = await machine('machine1', 'order');
  const two = await machine('machine2', 'order');
  await until(() => one.client.elsewhere.size === 1 && two.arrived.includes('service: hello'));
  expect(one.recorder.heard).toEqual(['worker 1 here', 'worker 1: begin', 'hub here', 'hub: hello']);
  two.arrived.length = 0;
  const id = 'machine2';
  const [hub] = [...(one.hub as unknown as { hubs: Map<string, unknown> }).hubs.keys()];
  const expected: string[] = [];
  for (let number = 0; number < 50; number++) {
    one.client.send(`1.${id}`, types.text, 0, `r${number}`);
    one.client.flush();
    one.recorder.host.sendToHub(hub!, Buffer.from(`s${number}`));
    expected.push(`1.machine1: r${number}`, `service: s${number}`);
  }
  await until(() => two.arrived.length >= expected.length);
  expect(two.arrived).toEqual(expected);

  // Messages may have been lost.
  const admin = new Redis(redis.url);
  two.recorder.heard.length = 0;
  await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  admin.disconnect();
  await until(
    () =>
      two.recorder.heard.at(-1) === 'hub: hello' && one.recorder.heard.filter((word) => word === 'hub here').length > 1,
  );
  expect(two.recorder.heard.slice(0, 2)).toEqual(['hub gone', 'hub here']);
  one.hub.close();
  await until(() => two.recorder.heard.at(-1) === 'hub gone');
  expect(one.recorder.heard.filter((word) => word === 'close')).toHaveLength(1);
  two.hub.close();
});

test('a hub without a server has services for its workers, and goes on when one of them throws', async () => {
  const meshes = [new Mesh(HUB, directory), new Mesh(1, directory), new Mesh(2, directory)] as const;
  const [own, ...others] = meshes;
  const services: Recorder[] = [];
  const hub = await openHub(undefined, {
    ...{ machine: 'machine0', mesh: own, window: turnWindow() },
    loadService: () => (host) => services[services.push(new Recorder(host)) - 1]!,
  });
  const arrived: string[] = [];
  for (const mesh of meshes) await mesh.listen();
  const links = others.map((mesh) => {
    const link = new Node(mesh, 'machine0', true).service(state);
    const note = (word: string) => () => arrived.push(`${mesh.id} ${word}`);
    link.listen({ onHere: note('here'), onMessage: (bytes) => note(`${bytes}`)(), onGone: note('gone') });
    return link;
  });
  for (const mesh of others) await mesh.join([HUB]);
  await until(() => own.members.length === 2 && arrived.length === 2);
  for (const message of ['throw', 'a', 'b']) links[1]!.send(Buffer.from(message));
  others[1]!.close();
  links[0]!.send(Buffer.from('c'));
  await until(() => arrived.includes('1 back: c') && services[0]!.heard.includes('worker 2 gone'));
  const { heard } = services[0]!;
  expect(heard.filter((word) => word.includes('2'))).toEqual([
    ...['worker 2 here', 'worker 2: throw', 'worker 2: a', 'worker 2: b', 'worker 2 gone'],
  ]);
  own.close();
  await until(() => arrived.includes('1 gone'));
  expect(links[0]!.send(Buffer.from('d'))).toBe(false);
  hub.close();
  others[0]!.close();
});

test('a machine without a server has a hub thread, and its workers hear when it ends and is replaced', async () => {
  const mesh = new Mesh(3, directory);
  const thread = hubThread(directory, 'machine0', [3]);
  const heard: string[] = [];
  const config = { bus: 'embedded' } as RunConfig;
  const node = openNode(config, mesh, 'machine0');
  const link = node.service(state);
  link.listen({ onHere: () => heard.push('here'), onMessage: () => {}, onGone: () => heard.push('gone') });
  const reported = Reported.here();
  reportHub(node, config);
  try {
    await mesh.listen();
    await thread.start();
    await node.health.whenUp();
    thread.end();
    await until(() => reported.down.length > 0);
    expect(reported.problems.down.map(({ code }) => code)).toEqual(['HUB_ENDED']);
    await until(() => heard.length === 3 && reported.down.length === 0);
    expect(heard).toEqual(['here', 'gone', 'here']);
    expect(reported.messages).toEqual([
      expect.stringMatching(/^the hub .* has ended, .* wait for it$/),
      'the hub is there again',
    ]);
  } finally {
    mesh.close();
    await thread.close(1000);
  }
});
