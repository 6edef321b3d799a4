// The clients of one host. Reads orders as lines of JSON, and answers each with its number.
import { createInterface } from 'node:readline';
import { io } from 'socket.io-client';

const sockets = new Map();
/** What each has heard, and how often it was cut off. */
const heard = new Map();

const orders = {
  open: async ({ name, url, transports = ['websocket'] }) => {
    const socket = io(url, { forceNew: true, transports, auth: { name }, reconnectionDelayMax: 500 });
    sockets.set(name, socket);
    heard.set(name, []);
    socket.onAny((event, value) => heard.get(name).push([event, value]));
    socket.on('disconnect', (reason) => heard.get(name).push(['disconnect', reason]));
    await new Promise((resolve) => socket.once('connect', resolve));
  },
  ask: ({ name, event, values }) =>
    sockets
      .get(name)
      .timeout(10_000)
      .emitWithAck(event, ...values),
  heard: ({ name }) => heard.get(name).splice(0),
  get: async ({ url }) => (await fetch(url)).json(),
};

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { number, order, ...input } = JSON.parse(line);
    try {
      process.stdout.write(`${JSON.stringify({ number, result: (await orders[order](input)) ?? null })}\n`);
    } catch (error) {
      process.stdout.write(`${JSON.stringify({ number, error: String(error) })}\n`);
    }
  })
  .on('close', () => process.exit(0));
