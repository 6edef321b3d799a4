import { createConnection } from 'node:net';
import { serialize } from 'node:v8';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Mesh } from '../../src/cluster/mesh/mesh.js';
import { Node } from '../../src/cluster/node.js';
import { socketOf } from '../../src/cluster/protocol.js';
import { encodeBody } from '../../src/cluster/relay/messages.js';
import { Relay } from '../../src/cluster/relay/relay.js';
import { pack, senderOf } from '../../src/cluster/wire/envelope.js';
import { types } from '../../src/cluster/wire/types.js';
import { Engine } from '../../src/engine/engine.js';
import type { UpgradeExchange } from '../../src/engine/http/exchange.js';
import { temporaryFolder } from '../support/folder.js';
import { Reported } from '../support/reports.js';
import { until } from '../support/until.js';

let directory: string;
let meshes: [Mesh, Mesh];
let engine: Engine;
let relay: Relay;
const { malformedFrom: malformed } = Reported.here();

beforeAll(async () => {
  directory = temporaryFolder();
  meshes = [new Mesh(1, directory), new Mesh(2, directory)];
  for (const mesh of meshes) await mesh.listen();
  engine = new Engine();
  const [mesh, other] = meshes;
  relay = new Relay(new Node(mesh, 'machine0', true), engine as never);
  await other.join([1]);
});

beforeEach(() => {
  malformed.length = 0;
});

afterAll(async () => {
  for (const mesh of meshes) mesh.close();
  engine.close();
});

const texts = ['', 'null', '5', '[]', '{', '"x"'];
const parts = { method: 'GET', url: '/', headers: {}, remoteAddress: '::1', encrypted: false };
const additions = { names: [], values: {}, bare: [] };
const notSessions = [
  ...[{}, { id: 'x' }, { id: 5, parts, additions }, { id: 'x', parts: null, additions }],
  ...[null, {}, { ...additions, values: null }].map((other) => ({ id: 'x', parts, additions: other })),
];

/** A message of worker 2. */
const says = (type: number, body: string | Uint8Array): Buffer =>
  pack({ type, part: 0, from: senderOf(2, 'machine0') }, body);
const relayed = (type: number, requestId: number, body: string | Uint8Array): Buffer =>
  says(type, Buffer.concat([Buffer.of(requestId, 0, 0, 0), Buffer.from(body as Uint8Array)]));

test('malformed messages between workers are reported and dropped; those behind them arrive', async () => {
  const sent = [
    ...['', 'x'].map((text) => says(types.abort, text)),
    ...[types.request, types.upgrade, types.move].flatMap((type) => [
      ...texts.map((text) => relayed(type, 1, text)),
      ...[null, 5, {}, { parts: null }, { parts: { ...parts, headers: null } }].map((value) =>
        relayed(type, 1, encodeBody(value)),
      ),
    ]),
    ...notSessions.map((value) => relayed(types.move, 1, serialize(value))),
    ...texts.map((text) => relayed(types.closed, 1, text)),
  ];
  const [mesh, other] = meshes;
  const behind = new Promise((resolve) =>
    mesh.on({ onMessage: (_from, { type, body }) => type === types.broadcast && resolve(String(body)) }),
  );
  for (const bytes of sent) other.send(1, bytes);
  // Longer than what its head says.
  other.send(1, pack({ type: types.request, part: 0, from: senderOf(2, 'machine0'), to: [1, 2] }).fill(9, 19, 20));
  other.send(1, says(types.broadcast, 'behind'));
  expect(await behind).toBe('behind');
  expect(malformed).toEqual([...sent.map(() => 'relay'), 'mesh']);
});

test('a client whose answer is malformed is answered as if its worker were gone', async () => {
  const bodies = [Buffer.alloc(0), Buffer.from('1234'), ...[null, 5, []].map((value) => encodeBody(value))];
  const answers: number[] = [];
  for (const [index, body] of bodies.entries()) {
    const exchange = {
      request: { toParts: () => parts },
      send: (status: number) => answers.push(status),
    } as unknown as UpgradeExchange;
    expect(relay.upgrade('2.session', exchange)).toBe(true);
    meshes[1].send(1, relayed(types.accept, index + 1, body));
  }
  await until(() => malformed.length === bodies.length);
  expect(answers).toEqual(bodies.map(() => 400));
});

test('a link that does not begin with a greeting is cut', async () => {
  for (const bytes of [[4, 0, 0, 0, 0, 0, 1, 0], [2, 0, 0, 0, 0, 0], says(types.broadcast, '')]) {
    const link = createConnection(socketOf(directory, 1));
    const closed = new Promise((resolve) => link.once('close', resolve));
    link.on('error', () => {});
    link.resume().write(Buffer.from(bytes));
    await closed;
  }
  expect(meshes[0].members).toEqual([2]);
});
