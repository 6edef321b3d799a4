import type { HubLink, HubServiceHost, OpenHubService } from '../../base/hub-service.js';
import { own } from '../../base/owner.js';
import { InOrder, machineTime } from './in-order.js';
import type { SequencerLink } from './replica/client.js';
import {
  decodeFromMachine,
  decodeMessage,
  encodeChanges,
  encodeMessage,
  encodeParts,
  type FromSequencer,
  type ToSequencer,
} from './sequencer/messages.js';
import { Sequencer } from './sequencer/sequencer.js';

/** The sequencer as a service of the hub. */
export const openHubService: OpenHubService = (host: HubServiceHost) => {
  let last: { readonly changes: readonly object[]; readonly body: Buffer } | undefined;
  const sequencer = new Sequencer({
    ...{ hasOthers: !host.isAlone, isLinked: host.isLinked },
    sendToWorker: (worker, message) => {
      if (message.type !== 'changes') return host.sendToWorker(worker, encodeMessage(message));
      // Several workers get the same changes.
      const { changes, ...head } = message;
      if (last?.changes !== changes) last = { changes, body: encodeChanges(changes) };
      host.sendToWorker(worker, encodeParts(head, last.body));
    },
    sendToMachine: (hub, message) => host.sendToHub(hub, message),
  });
  const workers = new Set<number>();
  const inOrder = new InOrder(host.attempt);
  const handle = (at: number, act: () => void) => {
    // What a worker has sent that has just ended may be later than what is read next.
    const isNext = workers.size < 2 && inOrder.isEmpty;
    inOrder.add(at, act);
    if (isNext) inOrder.flush();
  };
  return {
    onWorkerHere: (worker) => workers.add(worker),
    onWorkerGone: (worker) => {
      workers.delete(worker);
      // What others have sent before may not be read yet.
      inOrder.add(machineTime(), () => sequencer.onWorkerGone(worker));
    },
    onMessage: (worker, bytes) => {
      const message = decodeMessage<Timed>(bytes);
      handle(message.at, () => sequencer.onMessage(worker, message));
    },
    onHubHere: (hub) => inOrder.add(machineTime(), () => sequencer.onMachineHere(hub)),
    onHubGone: (hub) => inOrder.add(machineTime(), () => sequencer.onMachineGone(hub)),
    onHubMessage: (hub, bytes) => {
      const message = decodeFromMachine(bytes);
      handle(machineTime(), () => sequencer.onMachineMessage(hub, message));
    },
    close: () => {
      inOrder.flush();
      own('closing the state rooms', sequencer.close());
    },
  };
};

/** When a worker has sent a message. */
type Timed = ToSequencer & { readonly at: number };

/** The link of a worker to the sequencer in the hub of its machine. */
export function linkOverHub(link: HubLink): SequencerLink {
  return {
    isLocal: false,
    send: (message) => link.send(encodeMessage({ ...message, at: machineTime() } as Timed)),
    listen: ({ onHere, onGone, onMessage }) =>
      link.listen({ onHere, onGone, onMessage: (message) => onMessage(decodeMessage<FromSequencer>(message)) }),
    // The worker has it until it ends.
    close: () => {},
  };
}
