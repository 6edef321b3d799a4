// Has a Socket.IO server that does not listen, and nothing left to do.
import { Server } from 'socket.io';

new Server().on('connection', () => {});
