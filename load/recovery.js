// Measures what connection state recovery costs: CPU of all server processes for each delivered message, with the option
// off and on, beside stock socket.io in one process. Usage: node load/recovery.js [--rounds 3] [--seconds 4]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const CLIENTS = 100;
/** A message as a chat would send it. */
const TEXT = 'x'.repeat(40);
const rates = { room: 200, own: 4000 };
const WARM_UP_MS = 1000;

const servers = {
  'stock, off': { kind: 'stock', recovers: false, workers: 1 },
  'stock, on': { kind: 'stock', recovers: true, workers: 1 },
  'gjallar, off': { kind: 'gjallar', recovers: false, workers: 1 },
  'gjallar, on': { kind: 'gjallar', recovers: true, workers: 1 },
  'gjallar, 4 workers, off': { kind: 'gjallar', recovers: false, workers: 4 },
  'gjallar, 4 workers, on': { kind: 'gjallar', recovers: true, workers: 4 },
};

const [role, ...rest] = process.argv.slice(2);
if (role === 'server') await serve(JSON.parse(rest[0]));
else if (role === 'clients') await connectClients(rest);
else await measureAll();

async function measureAll() {
  const options = { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '4' } };
  const { values } = parseArgs({ options });
  const rows = new Map();
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, server] of Object.entries(servers)) {
      for (const target of Object.keys(rates)) {
        const row = `${target === 'room' ? 'to a room of 100' : 'to one socket'} | ${name}`;
        const result = await measure(server, target, Number(values.seconds) * 1000);
        rows.set(row, [...(rows.get(row) ?? []), result]);
      }
    }
  }
  console.log('message | server | CPU µs per delivery, median (all) | bytes per delivery');
  for (const [row, results] of rows) {
    const costs = results.map(({ cost }) => cost).sort((a, b) => a - b);
    const all = costs.map((cost) => cost.toFixed(2)).join(' ');
    console.log(`${row} | ${costs[costs.length >> 1].toFixed(2)} (${all}) | ${results[0].bytes.toFixed(0)}`);
  }
}

async function measure(server, target, ms) {
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-recovery-'));
  const children = [];
  const start = async (...args) => {
    const child = fork(fileURLToPath(import.meta.url), args, { execArgv: [] });
    children.push(child);
    const [answer] = await once(child, 'message');
    return { child, answer };
  };
  const ask = async (child, question) => {
    child.send(question);
    const [answer] = await once(child, 'message');
    return answer;
  };
  try {
    const workers = [];
    for (let id = 1; id <= server.workers; id++) {
      workers.push(await start('server', JSON.stringify({ ...server, directory, id })));
    }
    const clients = await start('clients', ...workers.map(({ answer }) => String(answer)));
    const look = async () => {
      const cpu = await Promise.all(workers.map(({ child }) => ask(child, 'cpu')));
      return { cpu: cpu.reduce((sum, one) => sum + one), ...(await ask(clients.child, 'count')) };
    };
    for (const { child } of workers) child.send({ target, rate: rates[target] / server.workers });
    await sleep(WARM_UP_MS);
    const before = await look();
    await sleep(ms);
    const after = await look();
    const deliveries = after.messages - before.messages;
    const offered = (rates[target] * (target === 'room' ? CLIENTS : 1) * ms) / 1000;
    if (deliveries < 0.9 * offered) throw new Error(`only ${deliveries} of ${offered} messages arrived`);
    return { cost: (after.cpu - before.cpu) / deliveries, bytes: (after.bytes - before.bytes) / deliveries };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
    rmSync(directory, { recursive: true, force: true });
  }
}

async function serve({ kind, recovers, directory, id }) {
  const options = recovers ? { connectionStateRecovery: {} } : {};
  const { io, port } = kind === 'stock' ? await stock(options) : await gjallar(options, directory, id);
  io.on('connection', (socket) => socket.join('room'));
  process.on('message', (message) => {
    if (message === 'cpu') {
      const { user, system } = process.cpuUsage();
      return process.send(user + system);
    }
    emit(io, message);
  });
  process.send(port);
}

/** Emits in small portions, as independent users would. */
function emit(io, { target, rate }) {
  const start = performance.now();
  let sent = 0;
  const sockets = [...io.of('/').sockets.values()];
  setInterval(() => {
    for (const due = ((performance.now() - start) * rate) / 1000; sent < due; sent++) {
      if (target === 'room') io.to('room').emit('message', TEXT);
      else sockets[sent % sockets.length].emit('message', TEXT);
    }
  }, 2);
}

async function stock(options) {
  const { Server } = await import('socket.io');
  const io = new Server(0, options);
  if (!io.httpServer.listening) await once(io.httpServer, 'listening');
  return { io, port: io.httpServer.address().port };
}

async function gjallar(options, directory, id) {
  const [{ Server }, { App, Engine, parser, us_socket_local_port }, { kinds, Mesh }] = await Promise.all([
    import('socket.io'),
    import('../build/index.js'),
    import('../build/cluster/mesh/mesh.js'),
  ]);
  const { loadBackplane } = await import('../build/backplanes/open.js');
  const { withNativeRooms } = await import('../build/rooms/native-rooms.js');
  const { linksOf } = await import('../build/runtime/backplane.js');
  const mesh = new Mesh(id, directory);
  await mesh.listen();
  await mesh.join(Array.from({ length: id - 1 }, (_, at) => at + 1));
  const app = App();
  const engine = new Engine();
  engine.attach(app);
  const open = await loadBackplane({ bus: 'embedded' });
  const bus = open({
    ...{ links: linksOf(mesh), prefix: '', window: engine.outbox, events: { onDown() {}, onUp() {} } },
    recovery: { links: linksOf(mesh, kinds.recovery) },
  });
  const io = new Server({ ...options, parser, adapter: withNativeRooms(bus.factory, engine) });
  io.bind(engine);
  const socket = await new Promise((resolve) => app.listen('127.0.0.1', 0, resolve));
  return { io, port: us_socket_local_port(socket) };
}

async function connectClients(ports) {
  const { WebSocket } = await import('ws');
  const seen = { messages: 0, bytes: 0 };
  const connect = (port) =>
    new Promise((resolve, reject) => {
      const client = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`, {
        perMessageDeflate: false,
      });
      client.on('error', reject);
      client.on('message', (data) => {
        const text = data.toString();
        if (text.startsWith('42')) {
          seen.messages++;
          seen.bytes += data.length;
        } else if (text === '2') client.send('3');
        else if (text.startsWith('0')) client.send('40');
        else resolve();
      });
    });
  for (let at = 0; at < CLIENTS; at++) await connect(ports[at % ports.length]);
  process.on('message', () => process.send(seen));
  process.send('connected');
}
