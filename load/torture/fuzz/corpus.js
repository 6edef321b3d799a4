import { gzipSync } from 'node:zlib';
import { join, PollingClient, WebSocketClient } from './clients.js';
import { Connection, frame, opcodes, request, upgradeRequest } from './connection.js';
import { expectSame } from './mismatch.js';

/** Attacks and mistakes that are known by name, each sent once with every seed. */

const POLLING = '/socket.io/?EIO=4&transport=polling';
const ENGINE = '/socket.io/?EIO=4&transport=websocket';
const publish = (headers, body) =>
  `POST /api/rooms/a/messages HTTP/1.1\r\nHost: x\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
const SMUGGLED = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
const BODY = '{"text":"a"}';

/** Requests that two servers in a row could read as two different ones, and others that are none. */
const badRequests = (key) => {
  const bearer = `Authorization: Bearer ${key}`;
  return {
    'two lengths that differ': publish([bearer, 'Content-Length: 12', 'Content-Length: 4'], BODY + SMUGGLED),
    'a length of zero and another': publish([bearer, 'Content-Length: 0', 'Content-Length: 12'], SMUGGLED),
    'length and chunks': publish([bearer, 'Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
    'chunks and length': publish([bearer, 'Transfer-Encoding: chunked', 'Content-Length: 5'], `0\r\n\r\n${SMUGGLED}`),
    'a coding that is none': publish([bearer, 'Transfer-Encoding: xchunked'], `0\r\n\r\n${SMUGGLED}`),
    'a space before the colon': publish([bearer, 'Transfer-Encoding : chunked'], `0\r\n\r\n${SMUGGLED}`),
    'a list of lengths': publish([bearer, 'Content-Length: 12, 12'], BODY),
    'a signed length': publish([bearer, 'Content-Length: +12'], BODY),
    'a negative length': publish([bearer, 'Content-Length: -1'], BODY),
    'a hexadecimal length': publish([bearer, 'Content-Length: 0xc'], BODY),
    'a length beyond numbers': publish([bearer, 'Content-Length: 99999999999999999999'], BODY),
    'a chunk beyond numbers': publish([bearer, 'Transfer-Encoding: chunked'], `ffffffffffffffff1\r\n${BODY}`),
    'a bare line feed': `GET /healthz HTTP/1.1\nHost: x\n\n${SMUGGLED}`,
    'a folded header': `GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n`,
    'no host': 'GET /healthz HTTP/1.1\r\n\r\n',
    'a NUL in the path': 'GET /heal\0thz HTTP/1.1\r\nHost: x\r\n\r\n',
    'HTTP/1.0': 'GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n',
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a header that is too long': `GET /healthz HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(9_000)}\r\n\r\n`,
    'too many headers': `GET /healthz HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(300)}\r\n`,
    'a path that climbs': 'GET /../../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n',
    'one that climbs encoded': 'GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n',
    'one that climbs backwards': 'GET /..\\..\\package.json HTTP/1.1\r\nHost: x\r\n\r\n',
    'one in overlong UTF-8': 'GET /%c0%ae%c0%ae/package.json HTTP/1.1\r\nHost: x\r\n\r\n',
    'the bundle of another folder': 'GET /socket.io/../../package.json HTTP/1.1\r\nHost: x\r\n\r\n',
    TLS: Buffer.from('1603010200010001fc0303', 'hex'),
  };
};

/** What each must end with: the connection of the client itself, and nothing else. */
const attacks = {
  'data nested deeper than the stack': (client) =>
    client.send([`42["echo",${'['.repeat(40_000)}${']'.repeat(40_000)}]`]),
  'a million attachments': (client) => client.send(['451000000-["echo",{"_placeholder":true,"num":0}]']),
  'a place for an attachment that is none': (client) =>
    client.send(['451-["echo",{"_placeholder":true,"num":5}]', Buffer.of(1)]),
  'an attachment that nobody announced': (client) => client.send([Buffer.of(1, 2, 3)]),
  'a text in place of an attachment': (client) =>
    client.send(['451-["echo",{"_placeholder":true,"num":0}]', '42["echo"]']),
  'an event of the library itself': (client) => client.send(['42["disconnect"]']),
  'thirty thousand CONNECTs': (client) => client.send(Array.from({ length: 30_000 }, () => '40')),
  'an event that is no array': (client) => client.send(['42{"__proto__":["echo"]}']),
  'a namespace that was not joined': (client) => client.send(['42/__proto__,["echo"]']),
};

/** @returns {Promise<number>} how many inputs that were; what went wrong is added to `mismatches` */
export async function runCorpus(context, mismatches) {
  const { port, apiKey, users } = context;
  const auth = { token: users[0].token };
  const cases = [
    ...Object.entries(badRequests(apiKey)).map(([name, bytes]) => [name, () => refused(port, bytes)]),
    ...Object.entries(attacks).flatMap(([name, attack]) =>
      ['websocket', 'polling'].map((transport) => [
        `${name}, over ${transport}`,
        async () => {
          const client = await join(port, transport, auth);
          attack(client);
          while ((await client.next()) !== undefined);
          await client.leave();
        },
      ]),
    ),
    ...Object.entries(others).map(([name, play]) => [name, () => play(context)]),
  ];
  for (const [name, play] of cases) {
    await play().catch((error) => mismatches.push(`${name}: ${error.message}`));
  }
  return cases.length;
}

/** No request of these gets what it asks for, nor does what was hidden behind it. */
async function refused(port, bytes) {
  const connection = new Connection(port).write(bytes);
  // Some of them could go on: the server waits for more, and gives up after some seconds.
  setTimeout(() => connection.endHalf(), 200);
  for (let response = await connection.response(); response; response = await connection.response()) {
    if (response.status < 400) throw new Error(`status ${response.status}: ${response.body}`);
  }
}

async function expectClosed(connection) {
  while (await connection.frame());
}

async function openFrames(port, headers) {
  const connection = new Connection(port).write(upgradeRequest(ENGINE, headers));
  const response = await connection.response();
  expectSame(response?.status, 101);
  return { connection, response };
}

const others = {
  'compression that was not agreed on': async ({ port }) => {
    const offer = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' };
    const { connection, response } = await openFrames(port, offer);
    expectSame(response.headers['sec-websocket-extensions'], undefined);
    connection.write(frame(Buffer.alloc(1000), { rsv: 4 }));
    await expectClosed(connection);
  },
  'a compressed bomb over polling': async ({ port }) => {
    const client = await PollingClient.open(port);
    const bomb = gzipSync(Buffer.alloc(50_000_000, '4'));
    client.posts.write(request('POST', client.path, { 'Content-Encoding': 'gzip' }, bomb.subarray(0, 40_000)));
    await client.posts.response();
    expectSame(await client.next(), undefined);
    await client.leave();
  },
  'a compressed bomb for the API': async ({ port, apiKey }) => {
    const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Encoding': 'gzip' };
    const connection = new Connection(port).write(
      request('POST', '/api/rooms/a/messages', headers, gzipSync('{"text":"a"}')),
    );
    expectSame(JSON.parse((await connection.response()).body).code, 'BAD_JSON');
    connection.end();
  },
  'a frame that says it is endless': async ({ port }) => {
    const { connection } = await openFrames(port);
    connection.write(frame('6', { declared: Number.MAX_SAFE_INTEGER }));
    await expectClosed(connection);
  },
  'a message of endless parts': async ({ port }) => {
    const { connection } = await openFrames(port);
    connection.write(frame('6', { fin: false }));
    const parts = Buffer.concat(Array.from({ length: 1_000 }, () => frame('x'.repeat(125), { opcode: 0, fin: false })));
    connection.write(parts);
    await expectClosed(connection);
  },
  'a message of empty parts': async ({ port }) => {
    const { connection } = await openFrames(port);
    connection.write(frame('6', { fin: false }));
    connection.write(Buffer.concat(Array.from({ length: 10_000 }, () => frame('', { opcode: 0, fin: false }))));
    connection.write(Buffer.concat([frame('', { opcode: 0 }), frame('x', { opcode: opcodes.ping })]));
    let next = await connection.frame();
    while (next && next.opcode !== opcodes.pong) next = await connection.frame();
    expectSame(next?.opcode, opcodes.pong);
    connection.end();
  },
  'ten thousand pings': async ({ port }) => {
    const { connection } = await openFrames(port);
    connection.write(Buffer.concat(Array.from({ length: 10_000 }, () => frame('x', { opcode: opcodes.ping }))));
    let pongs = 0;
    while (pongs < 10_000) pongs += (await connection.frame()).opcode === opcodes.pong ? 1 : 0;
    connection.end();
  },
  'a key that is none': async ({ port }) => {
    for (const key of ['', 'x', 'x'.repeat(200)]) {
      const connection = new Connection(port).write(upgradeRequest(ENGINE, { 'Sec-WebSocket-Key': key }));
      const response = await connection.response();
      if (response && response.status < 400) throw new Error(`status ${response.status}`);
      connection.end();
    }
  },
  'two polls at a time': async ({ port }) => {
    const client = await PollingClient.open(port);
    const [one, other] = [new Connection(port), new Connection(port)];
    for (const connection of [one, other]) connection.write(request('GET', client.path));
    const statuses = (await Promise.all([one, other].map((connection) => connection.response()))).map(
      ({ status }) => status,
    );
    expectSame(statuses.sort(), [200, 500]);
    expectSame(await client.next(), undefined);
    await client.leave();
  },
  'a POST to a session that has its WebSocket': async ({ port }) => {
    const client = await PollingClient.open(port);
    const upgrade = new Connection(port).write(upgradeRequest(client.path.replace('=polling', '=websocket')));
    expectSame((await upgrade.response())?.status, 101);
    upgrade.write(frame('2probe'));
    // It may have been held for its WebSocket; what came back first is the answer to the probe.
    expectSame((await upgrade.frame()).payload.toString(), '3probe');
    upgrade.write(frame('5'));
    upgrade.write(frame('40{}'));
    while (!(await upgrade.frame()).payload.toString().startsWith('44'));
    const response = await client.posts.write(request('POST', client.path, {}, '40')).response();
    expectSame([response.status, JSON.parse(response.body).code], [400, 3]);
    upgrade.end();
    client.polls.end();
    client.posts.end();
  },
  'bodies that a session does not take': async ({ port, maxPayload }) => {
    const bodies = [
      [{ 'Content-Type': 'application/octet-stream' }, Buffer.of(0, 255, 4), 400],
      [{}, '4'.repeat(maxPayload + 1), 413],
      [{}, '', 411],
    ];
    for (const [headers, body, status] of bodies) {
      const client = await PollingClient.open(port);
      expectSame((await client.posts.write(request('POST', client.path, headers, body)).response())?.status, status);
      expectSame(await client.next(), undefined);
      await client.leave();
    }
  },
  'handshakes that never end': async ({ port }) => {
    const all = Array.from({ length: 100 }, () =>
      new Connection(port).write(`GET ${POLLING} HTTP/1.1\r\nHost: x\r\nA: `),
    );
    const client = await WebSocketClient.open(port);
    client.leave();
    for (const connection of all) connection.vanish();
  },
  'clients that are gone before they are answered': async ({ port }) => {
    for (let round = 0; round < 50; round++) {
      const connection = new Connection(port).write(upgradeRequest(ENGINE));
      await new Promise((resolve) => setTimeout(resolve, round % 3));
      connection.vanish();
    }
  },
};
