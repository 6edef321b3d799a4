// Another worker of the machine, on the embedded bus, in a process that can be killed. It is there when it writes a line.

import { Server } from 'socket.io';
import { embeddedBackplane } from '../../../../build/cluster/backplanes/frames/open.js';
import { Mesh } from '../../../../build/cluster/mesh/mesh.js';
import { App } from '../../../../build/engine/sockets.js';
import { linksOf } from '../../../../build/host/runtime/backplane.js';
import { Engine } from '../../../../build/index.js';
import { withNativeRooms } from '../../../../build/io/rooms/native-rooms.js';

const [directory, id, ...others] = process.argv.slice(2);
const mesh = new Mesh(Number(id), directory);
await mesh.listen();
await mesh.join(others.map(Number));
const engine = new Engine().attach(App());
const io = new Server({ adapter: withNativeRooms(embeddedBackplane(linksOf(mesh)).factory, engine) });
io.bind(engine);
// It never answers, so that a question waits for as long as this worker lives.
io.on('question', () => console.log('asked'));
console.log('ready');
