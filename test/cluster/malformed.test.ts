import { createConnection } from 'node:net';
import { serialize } from 'node:v8';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { kinds, Mesh } from '../../src/cluster/mesh/mesh.js';
import { Node } from '../../src/cluster/node.js';
import { socketOf } from '../../src/cluster/protocol.js';
import { encodeBody, encodeMessage, ops } from '../../src/cluster/relay/messages.js';
import { Relay } from '../../src/cluster/relay/relay.js';
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

test('malformed messages between workers are reported and dropped; those behind them arrive', async () => {
  const relayed = [
    ...['', 'x', '1234'].map((text) => Buffer.from(text)),
    ...[ops.request, ops.upgrade, ops.move].flatMap((op) => [
      ...texts.map((text) => encodeMessage(op, 1, text)),
      ...[null, 5, {}, { parts: null }, { parts: { ...parts, headers: null } }].map((value) =>
        encodeMessage(op, 1, encodeBody(value)),
      ),
    ]),
    ...notSessions.map((value) => encodeMessage(ops.move, 1, serialize(value))),
    ...texts.map((text) => encodeMessage(ops.closed, 1, text)),
  ];
  const [mesh, other] = meshes;
  const behind = new Promise((resolve) => mesh.listenTo(kinds.bus, (_from, payload) => resolve(String(payload))));
  for (const bytes of relayed) other.send(1, kinds.relay, bytes);
  other.send(1, kinds.bus, Buffer.from('behind'));
  expect(await behind).toBe('behind');
  expect(malformed).toEqual(relayed.map(() => 'relay'));
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
    meshes[1].send(1, kinds.relay, encodeMessage(ops.accept, index + 1, body));
  }
  await until(() => malformed.length === bodies.length);
  expect(answers).toEqual(bodies.map(() => 400));
});

test('a link that does not begin with a greeting is cut', async () => {
  for (const bytes of [
    [4, 0, 0, 0, 0, 0, 1, 0],
    [5, 0, 0, 0, 9, 0, 1, 0, 0],
    [2, 0, 0, 0, 0, 0],
  ]) {
    const link = createConnection(socketOf(directory, 1));
    const closed = new Promise((resolve) => link.once('close', resolve));
    link.on('error', () => {});
    link.resume().write(Buffer.from(bytes));
    await closed;
  }
  expect(meshes[0].members).toEqual([2]);
});
