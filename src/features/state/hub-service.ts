import type { HubServiceHost, OpenHubService } from '../../base/hub-service.js';
import { own } from '../../base/owner.js';
import type { HubLink } from '../../base/worker-links.js';
import type { SequencerLink } from './replica/client.js';
import {
  decode,
  decodeFromMachine,
  encode,
  encodeChanges,
  encodeParts,
  type ToSequencer,
  type ToWorker,
} from './sequencer/messages.js';
import { Sequencer } from './sequencer/sequencer.js';

/** The sequencer as a service of the hub. */
export const openHubService: OpenHubService = (host: HubServiceHost) => {
  let last: { readonly changes: readonly object[]; readonly body: Buffer } | undefined;
  const sequencer = new Sequencer({
    hasOthers: !host.isAlone,
    sendToWorker: (worker, message) => {
      if (message.type !== 'changes') return host.sendToWorker(worker, encode(message));
      // Several workers get the same changes.
      const { changes, ...head } = message;
      if (last?.changes !== changes) last = { changes, body: encodeChanges(changes) };
      host.sendToWorker(worker, encodeParts(head, last.body));
    },
    sendToMachine: (hub, message) => host.sendToHub(hub, message),
  });
  return {
    onWorkerHere: () => {},
    onWorkerGone: (worker) => sequencer.onWorkerGone(worker),
    onMessage: (worker, message) => sequencer.onMessage(worker, decode<ToSequencer>(message)),
    onHubHere: (hub) => sequencer.onMachineHere(hub),
    onHubGone: (hub) => sequencer.onMachineGone(hub),
    onHubMessage: (hub, message) => sequencer.onMachineMessage(hub, decodeFromMachine(message)),
    close: () => own('closing the state rooms', sequencer.close()),
  };
};

/** The link of a worker to the sequencer in the hub of its machine. */
export function linkOverHub(link: HubLink): SequencerLink {
  return {
    isLocal: false,
    send: (message) => link.send(encode(message)),
    listen: ({ onHere, onGone, onMessage }) =>
      link.listen({ onHere, onGone, onMessage: (message) => onMessage(decode<ToWorker>(message)) }),
    // The worker has it until it ends.
    close: () => {},
  };
}
