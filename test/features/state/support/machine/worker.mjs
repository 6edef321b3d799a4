// A worker with a state room, in a process that can be stopped and killed. Its parent tells it over IPC what to do.
// Arguments: the folder of the machine's mesh, the worker's id, and those of its hub and of the other workers.

import { Server } from 'socket.io';
import { hostApplication } from '../../../../../build/base/process.js';
import { framesBackplane } from '../../../../../build/cluster/backplanes/frames/open.js';
import { Mesh } from '../../../../../build/cluster/mesh/mesh.js';
import { Node } from '../../../../../build/cluster/node.js';
import { ownWindow } from '../../../../../build/engine/delivery/shared-window.js';
import { App, us_socket_local_port } from '../../../../../build/engine/sockets.js';
import { createStateRoom } from '../../../../../build/features/state/index.js';
import { Engine } from '../../../../../build/index.js';
import { withNativeRooms } from '../../../../../build/io/rooms/native-rooms.js';
import { answerOrders } from '../../../../../load/harness/process/orders.js';

const [directory, id, ...others] = process.argv.slice(2);

// Links of a mesh keep no process alive: in a worker, the channel to the primary does.
process.channel.ref();
const mesh = new Mesh(Number(id), directory);
const node = new Node(mesh, 'machine0', true);
hostApplication({ hubLink: (service) => node.service(service) });
await mesh.listen();
await mesh.join(others.map(Number));
const bus = framesBackplane('embedded', { node, window: ownWindow() });
const app = App();
const engine = new Engine().attach(app);
const io = new Server({ adapter: withNativeRooms(bus.factory, engine) });
io.bind(engine);
await bus.ready();
const room = createStateRoom(io, 'quotes', { event: 'quote', maxKeys: 1000 });

io.on('connection', (socket) => {
  socket.on('watch', (options, ack) => ack(room.join(socket, options)));
});
await room.ready();

answerOrders({
  set: ([key, value, options]) => room.set(key, value, options),
  delete: ([key]) => room.delete(key),
  entries: () => [...room.entries()],
});
app.listen('127.0.0.1', 0, (socket) =>
  process.send({ ready: true, url: `http://127.0.0.1:${us_socket_local_port(socket)}` }),
);
