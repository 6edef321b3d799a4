// Does what its clients ask for with the API of Socket.IO's server: [['to', 'room'], ['emit', 'test']] is io.to('room').emit('test').
import { createServer } from 'node:http';
import { Server } from 'socket.io';

const server = createServer();
const io = new Server(server);

const isRemote = (value) => typeof value?.id === 'string' && typeof value.emit === 'function';
const described = ({ id, rooms, data, handshake }) => ({ id, rooms: [...rooms], data, auth: handshake.auth });
const resultOf = (value) => (Array.isArray(value) && value.every(isRemote) ? value.map(described) : value);

io.on('connection', (socket) => {
  socket.on('worker', (done) => done(process.pid));
  socket.on('name', (name, done) => {
    socket.data.name = name;
    done();
  });
  socket.on('chain', async (target, steps, done) => {
    try {
      const start = { socket, server: io, dynamic }[target] ?? io.of(target);
      const step = (on, [name, ...values]) => (typeof on[name] === 'function' ? on[name](...values) : on[name]);
      const value = await steps.reduce(step, start);
      done({ value: typeof value === 'object' && !Array.isArray(value) ? undefined : resultOf(value) });
    } catch (error) {
      done({ error: error.message, responses: error.responses });
    }
  });
});
const dynamic = io.of(/^\/dynamic-\d+$/);
server.listen(0);
