// A worker of a machine on a bus of frames, in a process that can be stopped and killed. It is there when it writes a line.

import { Server } from 'socket.io';
import { ownWindow } from '../../../build/backplanes/frames/links.js';
import { natsBackplane } from '../../../build/backplanes/nats/pub-sub.js';
import { redisFramesBackplane } from '../../../build/backplanes/redis/frames.js';
import { Mesh } from '../../../build/cluster/mesh/mesh.js';
import { App } from '../../../build/engine/sockets.js';
import { Engine } from '../../../build/index.js';
import { withNativeRooms } from '../../../build/rooms/native-rooms.js';
import { linksOf } from '../../../build/runtime/backplane.js';

const [directory, id, url, machine, ...others] = process.argv.slice(2);
const mesh = new Mesh(Number(id), directory);
await mesh.listen();
await mesh.join(others.map(Number));
const events = { onDown: () => {}, onUp: () => {} };
const surroundings = { links: linksOf(mesh), machine, window: ownWindow(), url, prefix: 'socket.io', events };
const bus = (url.startsWith('nats') ? natsBackplane : redisFramesBackplane)(surroundings);
const engine = new Engine().attach(App());
new Server({ adapter: withNativeRooms(bus.factory, engine) }).bind(engine);
await bus.ready();
console.log('ready');
