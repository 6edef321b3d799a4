import { stateSource } from './state-source.js';

/**
 * The application of the benchmark "state". In the mode `emit`, each change is a broadcast, and a client that joins gets all
 * keys in one message. In the mode `state`, a state room does both.
 * @param {import('socket.io').Server} io
 * @param {object} settings those of the row
 * @param {(io: object, name: string, options: object) => object} [stateRoom] of gjallar/state
 */
export function runStateApplication(io, settings, stateRoom) {
  if (settings.mode === 'state') runRoom(io, settings, stateRoom(io, 'quotes', { event: 'state' }));
  else runEmits(io, settings);
}

function runEmits(io, settings) {
  const values = new Map();
  const source = stateSource(settings, (key, value) => {
    values.set(key, value);
    io.to('quotes').emit('state', [[key, value]], {});
  });
  io.on('connection', (socket) => {
    const join = (_options, reply) => {
      socket.join('quotes');
      if (values.size > 0) socket.emit('state', [...values], { snapshot: true });
      reply({ ok: true });
    };
    socket.on('join', join);
    socket.on('return', join);
    socket.on('start', () => source.start());
  });
  if (settings.filled) source.fill();
}

function runRoom(io, settings, room) {
  const source = stateSource(settings, (key, value) => room.set(key, value));
  let version;
  if (settings.filled) {
    source.fill();
    // What a client that was here a moment ago would say when it returns.
    const format = {
      name: 'version',
      prefix: '',
      encode: (_chunk, meta) => {
        version = meta.version;
        return [];
      },
    };
    room.joinReader({ topicSocket: undefined, bufferedAmount: 0, send() {} }, format, { maxRate: 20 });
  }
  io.on('connection', (socket) => {
    socket.on('join', (_options, reply) => reply(room.join(socket)));
    socket.on('return', (_options, reply) => reply(room.join(socket, { version })));
    socket.on('start', () => source.start());
  });
}
