import type { HubLink, HubLinkListener } from '../../base/hub-service.js';
import { HUB, kinds, type Mesh } from '../mesh/mesh.js';
import type { HubWorkers } from './hub.js';

/** The link of a worker to a hub that is a member of its mesh. */
export function hubOnMesh(mesh: Mesh): HubLink {
  return {
    send: (message) => {
      const isSent = mesh.send(HUB, kinds.hub, message);
      mesh.flush();
      return isSent;
    },
    listen: (listener: HubLinkListener) => {
      mesh.listenTo(kinds.hub, (_from, message) => listener.onMessage(message));
      mesh.onHub = (isThere) => (isThere ? listener.onHere() : listener.onGone());
      if (mesh.has(HUB)) listener.onHere();
    },
  };
}

/** The workers of a machine, as the member of their mesh with the number 0 reaches them. */
export function workersOnMesh(mesh: Mesh): HubWorkers {
  return {
    send: (worker, message) => mesh.send(worker, kinds.hub, message),
    listen: (listener) => {
      mesh.listenTo(kinds.hub, (worker, message) => listener.onMessage(worker, message));
      mesh.onJoin = (worker) => listener.onHere(worker);
      mesh.onLeave((worker) => listener.onGone(worker));
      for (const worker of mesh.members) listener.onHere(worker);
    },
    close: () => mesh.close(),
  };
}
