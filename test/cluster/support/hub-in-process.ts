import type { HubLink, HubLinkListener } from '../../../src/base/hub-service.js';
import type { HubWorkers, HubWorkersListener } from '../../../src/cluster/hub/hub.js';
import type { SharedWindow } from '../../../src/engine/delivery/shared-window.js';

/** Joins a worker with a hub in the same process, which serves this worker alone. */
export function linkInProcess(worker: number): { link: HubLink; workers: HubWorkers } {
  let toHub: HubWorkersListener | undefined;
  let toWorker: HubLinkListener | undefined;
  let waiting: Buffer[] = [];
  const deliver = () => {
    const messages = waiting;
    waiting = [];
    for (const message of messages) toWorker?.onMessage(message);
  };
  const begin = () => {
    if (!toHub || !toWorker) return;
    toWorker.onHere();
    toHub.onHere(worker);
  };
  return {
    link: {
      send: (message) => {
        toHub?.onMessage(worker, message as Buffer);
        return toHub !== undefined;
      },
      listen: (listener) => {
        toWorker = listener;
        begin();
      },
    },
    workers: {
      send: (_worker, message) => {
        // Not in the middle of what the worker does.
        if (waiting.length === 0) process.nextTick(deliver);
        waiting.push(message);
      },
      listen: (listener) => {
        toHub = listener;
        begin();
      },
      close: () => {
        toHub = undefined;
        toWorker = undefined;
      },
    },
  };
}

/** A window that ends with the turn: all that is held in one turn leaves at its end. */
export function turnWindow(): SharedWindow {
  return {
    share: (flush) => {
      let isPlanned = false;
      return () => {
        if (isPlanned) return;
        isPlanned = true;
        setImmediate(() => {
          isPlanned = false;
          flush();
        });
      };
    },
  };
}
