// A worker of a machine with connection state recovery, on a port of its own, in a process that can be killed.

import { Server } from 'socket.io';
import { hubServices } from '../../../../build/base/hub-service.js';
import { HUB, Mesh } from '../../../../build/cluster/mesh/mesh.js';
import { Node } from '../../../../build/cluster/node.js';
import { ownWindow } from '../../../../build/engine/delivery/shared-window.js';
import { App, us_socket_local_port } from '../../../../build/engine/sockets.js';
import { loadBackplane } from '../../../../build/host/runtime/open-bus.js';
import { Engine, parser } from '../../../../build/index.js';
import { withNativeRooms } from '../../../../build/io/rooms/native-rooms.js';

const [directory, id, ...others] = process.argv.slice(2);
// Links of a mesh keep no process alive: in a worker, the channel to the primary does.
process.channel.ref();
const mesh = new Mesh(Number(id), directory);
const node = new Node(mesh, 'machine-', true);
await mesh.listen();
await mesh.join([HUB, ...others.map(Number)]);
const app = App();
const engine = new Engine({ idPrefix: `${id}-` });
engine.attach(app);
const open = await loadBackplane({ bus: 'embedded', redisUrl: undefined });
const bus = open({
  node,
  window: ownWindow(),
  prefix: '',
  recovery: { link: node.service(hubServices.recovery) },
});
const io = new Server({ parser, connectionStateRecovery: {}, adapter: withNativeRooms(bus.factory, engine) });
io.bind(engine);
await bus.ready();

io.on('connection', (socket) => {
  socket.on('join', async (room, done) => {
    socket.data.joined = room;
    await socket.join(room);
    done();
  });
  socket.on('state', (done) =>
    done({ worker: id, recovered: socket.recovered, rooms: [...socket.rooms], data: socket.data }),
  );
  if (!socket.recovered) socket.emit('n', 'hello', 0);
});

let number = 0;
const actions = {
  emit: ({ room, sender, as }) => (room ? io.to(room) : io).emit('n', sender ?? id, as ?? ++number),
  tell: ({ sid, number }) => io.of('/').sockets.get(sid).emit('n', 'own', number),
  /** Emits without a pause, to a room and to a socket of this worker, until the process ends. */
  flood: ({ room, sid }) => {
    const socket = io.of('/').sockets.get(sid);
    setInterval(() => {
      for (let count = 0; count < 5; count++) {
        io.to(room).emit('n', id, ++number);
        socket.emit('n', 'direct', number);
      }
    }, 1);
  },
  /** Ends as a worker does that a reload has replaced. */
  close: async () => {
    await io.close();
    bus.close();
    mesh.close();
    app.close();
    process.exit(0);
  },
};
process.on('message', ({ action, ...input }) => actions[action](input));
app.listen('127.0.0.1', 0, (socket) => process.send(`http://127.0.0.1:${us_socket_local_port(socket)}`));
