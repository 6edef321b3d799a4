import { afterEach, expect, test } from '@jest/globals';
import { startMember } from '../../io/rooms/support/node.js';
import { temporaryFolder } from '../../support/folder.js';
import { until } from '../../support/until.js';
import { joinMesh, Wanderer } from './support/recovering.js';

const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test('a client on polling gets what it has missed and its CONNECT packet in one response', async () => {
  const directory = temporaryFolder();
  const node = await startMember(await joinMesh(directory, 1, []), { server: { connectionStateRecovery: {} } });
  ends.push(() => node.close());
  node.io.on('connection', (socket) => socket.emit('n', socket.recovered ? 'back' : 'hello', 0));
  const client = new Wanderer(node.url, 'polling');
  ends.push(() => client.close());
  await client.heardAll(1);
  await client.cutOff();
  await until(() => node.io.of('/').sockets.size === 0);
  for (const number of [1, 2, 3]) node.io.emit('n', 'missed', number);

  const url = `${node.url}/socket.io/?EIO=4&transport=polling`;
  const opening = (await (await fetch(url)).text()).slice(1);
  const { sid } = JSON.parse(opening) as { sid: string };
  const poll = fetch(`${url}&sid=${sid}`);
  await fetch(`${url}&sid=${sid}`, { method: 'POST', body: `40${JSON.stringify(client.credentials)}` });
  const packets = (await (await poll).text()).split('\x1e');
  expect(packets.map((packet) => packet.slice(0, 16))).toEqual([
    '42["n","missed",',
    '42["n","missed",',
    '42["n","missed",',
    expect.stringMatching(/^40\{"sid":/),
    '42["n","back",0,',
  ]);
});
