// The hub of a machine, in a process that can be killed.
// Arguments: the folder of the machine's mesh, and the ids of its workers.

import { openHub } from '../../../../../build/cluster/hub/open.js';
import { HUB, Mesh } from '../../../../../build/cluster/mesh/mesh.js';
import { ownWindow } from '../../../../../build/engine/delivery/shared-window.js';
import { openHubService } from '../../../../../build/features/state/hub-service.js';

const [directory, ...workers] = process.argv.slice(2);
process.once('disconnect', () => process.exit());

const mesh = new Mesh(HUB, directory);
let linked;
const isLinked = new Promise((resolve) => {
  linked = resolve;
});
const loadService = () => openHubService;
await openHub(undefined, {
  machine: 'machine0',
  mesh,
  window: ownWindow(),
  isLinked,
  loadService,
});
await mesh.listen();
await mesh.join(workers.map(Number));
linked();
process.send({ ready: true });
