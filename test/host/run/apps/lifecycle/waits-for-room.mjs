// Listens once it knows what other workers have set.
import { createServer } from 'node:http';
import { createStateRoom } from 'gjallar/state';
import { Server } from 'socket.io';

const http = createServer();
const votes = createStateRoom(new Server(http), 'votes');
await votes.ready();
await votes.compareAndSet('yes', undefined, 0);
await votes.caughtUp();
http.listen(0);
