/**
 * The thread of the primary that is the hub of the machine. It runs no code of the application.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { setTimeOrigin } from '../../base/clock.js';
import { hubServices, type OpenHubService } from '../../base/hub-service.js';
import { own, raise } from '../../base/owner.js';
import { requireHere } from '../../base/package.js';
import { ownWindow } from '../../engine/delivery/shared-window.js';
import { HUB, Mesh } from '../mesh/mesh.js';
import { ALIVE_INTERVAL_MS } from '../protocol.js';
import { OTHER_WIRE, wire } from '../wire-number.js';
import type { FromHub, HubData, ToHub } from './hub-thread.js';
import { openHub } from './open.js';

/** The files of the services, which export a function of this name. bundle.js has them among its entries. */
const files: { readonly [service: number]: `./${string}.js` } = {
  [hubServices.state]: './features/state/hub-service.js',
  [hubServices.recovery]: './features/recovery/hub-service.js',
};

const { directory, machine, address, wireNumber, timeOrigin } = workerData as HubData;
setTimeOrigin(timeOrigin);
if (wireNumber !== wire.number) process.exit(OTHER_WIRE);
// All of them now: later, the files may be those of another build.
const loaded = new Map(
  Object.entries(files).map(([service, file]) => [
    Number(service),
    (requireHere(file) as { openHubService: OpenHubService }).openHubService,
  ]),
);
const loadService = (service: number) => loaded.get(service);
const primary = parentPort!;
const say = (message: FromHub) => primary.postMessage(message);

const mesh = new Mesh(HUB, directory, (worker) => say({ type: 'stuck', worker }));
let linked = () => {};
const isLinked = new Promise<void>((resolve) => {
  linked = resolve;
});

async function start(): Promise<void> {
  const hub = await openHub(address, { machine, mesh, window: ownWindow(), isLinked, loadService });
  await mesh.listen();
  primary.on('message', (message: ToHub) => {
    if (message.type === 'join')
      return own('linking the hub with the workers', mesh.join(message.workers).then(linked));
    // What workers have sent that have just ended may not be read yet.
    const closeOnceAlone = () => {
      if (mesh.members.length > 0) return;
      hub.close();
      process.once('exit', () => say({ type: 'unsent', messages: hub.untold }));
      // What it has handed over leaves first.
      primary.unref();
    };
    mesh.on({ onLeave: closeOnceAlone });
    closeOnceAlone();
  });
  say({ type: 'ready' });
  setInterval(() => say({ type: 'alive' }), ALIVE_INTERVAL_MS).unref();
}

// An error ends the thread.
start().catch(raise);
