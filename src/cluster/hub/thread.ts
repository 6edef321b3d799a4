/**
 * The thread of the primary that is the hub of the machine. It runs no code of the application.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { ownWindow } from '../../backplanes/frames/window.js';
import { Mesh } from '../mesh/mesh.js';
import { HUB } from '../mesh/mesh.js';
import type { FromHub, HubData, ToHub } from './hub-thread.js';
import { workersOnMesh } from './mesh-hub.js';
import { openHub } from './open.js';

const { directory, machine, address, workers } = workerData as HubData;
const say = (message: FromHub) => parentPort!.postMessage(message);

const mesh = new Mesh(HUB, directory, (worker) => say({ type: 'stuck', worker }));
await mesh.listen();
await mesh.join(workers);
const hub = await openHub(address, { machine, workers: workersOnMesh(mesh), window: ownWindow() });
parentPort!.on('message', (message: ToHub) => {
  if (message !== 'close') return;
  hub.close();
  parentPort!.close();
});
say({ type: 'ready' });
