// Several workers of the chat on stock socket.io that share a port, as the documentation of its cluster engine says.

import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { setupPrimary } from '@socket.io/cluster-adapter';
import { clusterEngine } from '../support/cluster-engine.js';

const { HOST, SETTINGS } = process.env;
const { workers } = JSON.parse(SETTINGS);

// Without what they print: the address is told once all listen.
const exec = fileURLToPath(new URL('socketio-chat.js', import.meta.url));
cluster.setupPrimary({ exec, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
setupPrimary();
clusterEngine.setupPrimary();

let listening = 0;
cluster.on('listening', (_worker, { port }) => {
  if (++listening === workers) console.log(`socket.io listens on http://${HOST}:${port}`);
});
cluster.on('exit', () => process.exit(1));
for (let i = 0; i < workers; i++) cluster.fork();
