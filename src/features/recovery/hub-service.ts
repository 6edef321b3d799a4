import type { OpenHubService } from '../../base/hub-service.js';
import { Keeper } from './keeper/keeper.js';
import { decode, encode, type ToKeeper, type ToKeeperElsewhere } from './messages.js';

/** The keeper as a service of the hub. */
export const openHubService: OpenHubService = (host) => {
  const keeper = new Keeper({
    ...{ isAlone: host.isAlone, isLinked: host.isLinked },
    sendToWorker: (worker, message) => host.sendToWorker(worker, encode([message])),
    sendToKeeper: (hub, message) => host.sendToHub(hub, encode([message])),
  });
  return {
    onWorkerHere: () => {},
    onWorkerGone: (worker) => keeper.onWorkerGone(worker),
    onMessage: (worker, bytes) => {
      for (const message of decode<ToKeeper>(bytes)) keeper.onMessage(worker, message);
    },
    onHubHere: (hub) => keeper.onKeeperHere(hub),
    onHubGone: (hub) => keeper.onKeeperGone(hub),
    onHubMessage: (hub, bytes) => {
      for (const message of decode<ToKeeperElsewhere>(bytes)) keeper.onKeeperMessage(hub, message);
    },
    close: () => keeper.close(),
  };
};
