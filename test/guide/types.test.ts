import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { applicationWith, root } from '../io/server/support/package.js';
import '../support/long.js';
import { blockOf } from './support/blocks.js';

/** What the examples take from their application. */
const GIVEN = `
  interface Player { player: string; orders: string[]; pays: boolean; user: string }
  interface Quote { bid: number; ask: number }
  interface Events { status(status: { paid: boolean }): void; users(names: string[]): void }
  declare const httpServer: import('node:http').Server;
  declare const io: import('gjallar').Server<Events, Events, object, Player>;
  declare function leaveGame(player: string | undefined): void;
`;

/** The first example in the documentation of an export. */
function exampleIn(file: string, start: string): string {
  const examples = readFileSync(join(root, 'src', file), 'utf8').split(/^ \* ```$/m);
  return examples.find((text) => text.startsWith(`\n * ${start}`))!.replace(/^ \* ?/gm, '');
}

const programs: Record<string, string> = {
  'durable.ts': blockOf('docs/guide/durable-rooms.md', 'import { createServer }'),
  'durable-client.ts': blockOf('docs/guide/durable-rooms.md', 'import { DurableRooms }'),
  'durable-redis.ts': blockOf('docs/guide/durable-rooms.md', 'import { createDurableRooms, R'),
  'checked-events.ts': readFileSync(join(root, 'examples/event-schemas/src/checked-events.ts'), 'utf8'),
  'events.ts': `${blockOf('docs/guide/event-schemas.md', 'import { createServer }')}
    type Sent = import('./checked-events.js').SentEvents<typeof schemas>;
    declare const client: import('socket.io-client').Socket<ToClients, Sent>;
    client.emit('say', { room: 'hall', text: 'Hello!' });
    // @ts-expect-error: the schema wants a text
    client.emit('say', { room: 'hall' });
    // @ts-expect-error: a server listens only to events with a schema
    io.on('connection', (socket) => socket.on('shout', () => {}));`,
  'expired.ts': blockOf('docs/guide/recovery.md', 'import { onSessionExpired }'),
  'options.ts': blockOf('docs/reference/library.md', 'import { createServer }'),
  'presence.ts': blockOf('docs/guide/presence.md', '// server.mjs'),
  'state.ts': blockOf('docs/guide/live-data.md', '// server.mjs'),
  'state-client.ts': blockOf('docs/guide/live-data.md', '// client.mjs'),
  'in-place.ts': `
    import { onSessionExpired, Server } from 'gjallar';
    import { createDurableRooms } from 'gjallar/history';
    import { createPresence } from 'gjallar/presence';
    import { createStateRoom, type StateRoom } from 'gjallar/state';
    { ${exampleIn('index.ts', 'onSessionExpired(io')} }
    { ${exampleIn('features/state/index.ts', 'const quotes')} }
    { ${exampleIn('features/history/durable/open.ts', 'const orders')} }
    { ${exampleIn('features/presence/index.ts', 'const presence')} }
    { ${exampleIn('io/server/server.ts', 'const io')} }`,
  'data.ts': `
    import { onSessionExpired, Server, type ServerOptions } from 'gjallar';
    import { createDurableRooms } from 'gjallar/history';
    import { createStateRoom, type StateRoom } from 'gjallar/state';
    const options: Partial<ServerOptions> = { maxBackpressure: 1e6, portOwner: 'node', connectionStateRecovery: { killedWorkers: true } };
    const own = new Server<Events, Events, object, Player>(options);
    const quotes: StateRoom<Quote> = createStateRoom(own, 'quotes', { mayJoin: (socket) => socket.data.pays });
    // @ts-expect-error: the application's data has no such field
    createStateRoom(own.of('/shop'), 'quotes', { mayJoin: (socket) => socket.data.payed });
    createStateRoom<Quote, Player>(own, 'more', { mayJoin: async ({ data }) => data.pays }).set('AAPL', { bid: 1, ask: 2 });
    const orders = await createDurableRooms(own, { rooms: '*', mayJoin: ({ data }, room) => data.orders.includes(room) });
    orders.to('order:7').emit('status', { paid: true });
    // @ts-expect-error: the same
    createDurableRooms(own, { rooms: '*', mayJoin: ({ data }, room) => data.order.includes(room) });
    onSessionExpired(own, ({ data }) => data?.player.length);
    // @ts-expect-error: a bound may have dropped the data
    onSessionExpired(own, ({ data }) => data.player.length);
    // @ts-expect-error: no such option
    const wrong: Partial<ServerOptions> = { maxBackpresure: 1e6 };
    // Without types, an application's data is anything, as in Socket.IO.
    onSessionExpired(new Server(), ({ data }) => data.player);
    console.log(quotes.get('AAPL')?.bid.toFixed(), wrong);`,
};

test('the examples of the guides and in the documentation of the library compile in strict mode', () => {
  const folder = applicationWith({
    ...Object.fromEntries(Object.entries(programs).map(([name, text]) => [name, `${text}\nexport {};`])),
    'given.d.ts': GIVEN,
    'package.json': '{ "type": "module" }',
  });
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
  ];
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const run = [tsc, ...options, 'given.d.ts', ...Object.keys(programs)];
  expect(spawnSync(process.execPath, run, { cwd: folder, encoding: 'utf8' }).stdout).toBe('');
});
