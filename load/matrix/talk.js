import { asked, next } from './visitor.js';

const TRANSPORTS = { polling: ['polling'], websocket: ['websocket'], upgrade: ['polling', 'websocket'] };

/**
 * The script of Socket.IO, for applications with the events of `apps/chat.cjs`: middleware, acknowledgements, binary data,
 * rooms, another namespace and the reasons of `disconnect`, over each transport.
 * @param {import('./visitor.js').Visitor} visitor
 * @param {{ namespace?: string, options?: object, over?: string[] }} [settings] `over`: names of TRANSPORTS
 */
export async function talk(visitor, { namespace = '/', options = {}, over = Object.keys(TRANSPORTS) } = {}) {
  const record = {};
  for (const name of over) {
    const settings = { ...options, transports: TRANSPORTS[name] };
    record[name] = await overTransport(visitor, namespace, settings, `room ${name}`);
  }
  return record;
}

async function overTransport(visitor, namespace, options, room) {
  const denied = visitor.socket(namespace, { ...options, auth: { token: 'wrong' } });
  const [error] = await next(denied, 'connect_error');
  const three = await Promise.all(
    [1, 2, 3].map((number) => visitor.connected(namespace, { ...options, auth: { number } })),
  );
  const [first, second, third] = three;
  const heard = three.map(() => []);
  for (const [index, socket] of three.entries()) socket.onAny((...values) => heard[index].push(values));
  for (const socket of three) socket.on('question', (answer) => answer(socket === first ? 'one' : 'two'));
  for (const socket of three) await asked(socket, 'join', room);
  const rooms = await asked(first, 'join', 'another');
  const echo = await asked(first, 'echo', 'text', 7, { deep: [null, 'ö'] });
  const bytes = Buffer.from(await asked(second, 'reverse', Buffer.from([1, 2, 3, 255]))).toJSON().data;
  const answers = await asked(third, 'ask', room);
  const fences = three.map((socket) => next(socket, 'fence'));
  first.emit('say', room, 'to all');
  first.emit('say to others', room, 'to the others');
  first.emit('fence', room);
  await Promise.all(fences);
  await settled(first.io.engine, options.transports.at(-1));
  const about = await asked(first, 'about');
  const reasons = [next(second, 'disconnect'), next(third, 'disconnect')];
  second.emit('leave', true);
  third.emit('leave', false);
  const [[closed], [left]] = await Promise.all(reasons);
  first.disconnect();
  return {
    denied: [error.message, error.data],
    rooms,
    echo,
    bytes,
    answers: answers.sort(),
    heard,
    about,
    reasons: [closed, left],
  };
}

/** Resolves when a connection is on its last transport. */
async function settled(engine, transport) {
  if (engine.transport.name !== transport) await next(engine, 'upgrade');
}
