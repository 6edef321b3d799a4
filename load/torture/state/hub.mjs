// The hub of a machine, in a process that can be killed.
// Arguments: the folder of the machine's mesh, its machine, the name of the bus, the URL of its Redis or NATS (or `-`), and the
// ids of the machine's workers.

import { backplaneKindOf } from '../../../build/cluster/backplanes/registry.js';
import { openHub } from '../../../build/cluster/hub/open.js';
import { HUB, Mesh } from '../../../build/cluster/mesh/mesh.js';
import { ownWindow } from '../../../build/engine/delivery/shared-window.js';
import { openHubService } from '../../../build/features/state/hub-service.js';

const [directory, machine, busName, url, ...workers] = process.argv.slice(2);
process.once('disconnect', () => process.exit());

const { hub: server } = backplaneKindOf(busName);
const address = server && { server, url, prefix: 'state', withoutFrames: true };
const mesh = new Mesh(HUB, directory);
let linked;
const isLinked = new Promise((resolve) => {
  linked = resolve;
});
const loadService = () => openHubService;
await openHub(address, { machine, mesh, window: ownWindow(), isLinked, loadService });
await mesh.listen();
await mesh.join(workers.map(Number));
linked();
process.send({ ready: true });
