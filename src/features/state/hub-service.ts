import { machineTime } from '../../base/clock.js';
import type { HubService, HubServiceHost } from '../../base/hub-service.js';
import { type Codec, serviceInHub } from '../hub-link.js';
import { InOrder } from './in-order.js';
import {
  decodeFromMachine,
  decodeStateMessage,
  encodeStateMessage,
  type FromSequencer,
  type ToMachine,
  type ToSequencer,
} from './sequencer/messages.js';
import { Sequencer } from './sequencer/sequencer.js';

/** When a worker has sent a message. */
type Timed = ToSequencer & { readonly at: number };

/** At the end of a worker. */
export const workerCodec: Codec<ToSequencer, FromSequencer> = {
  encode: (messages) => messages.map((message) => encodeStateMessage({ ...message, at: machineTime() } as Timed)),
  decode: (bytes) => [decodeStateMessage(bytes)],
};
const hubCodec: Codec<FromSequencer, Timed> = {
  encode: (messages) => messages.map(encodeStateMessage),
  decode: (bytes) => [decodeStateMessage(bytes)],
};
const machineCodec: Codec<ToMachine, ToMachine> = {
  encode: (messages) => messages.map(encodeStateMessage),
  decode: (bytes) => [decodeFromMachine(bytes)],
};

/** The sequencer as a service of the hub. */
export const openHubService = serviceInHub(open, hubCodec, machineCodec);

/** A sequencer that gets what it is told in the order in which it was sent. */
function open(host: HubServiceHost<FromSequencer, ToMachine>): HubService<Timed, ToMachine> {
  const sequencer = new Sequencer(host);
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
    onMessage: (worker, message) => handle(message.at, () => sequencer.onMessage(worker, message)),
    onHubHere: (hub) => inOrder.add(machineTime(), () => sequencer.onHubHere(hub)),
    onHubGone: (hub) => inOrder.add(machineTime(), () => sequencer.onHubGone(hub)),
    onHubMessage: (hub, message) => handle(machineTime(), () => sequencer.onHubMessage(hub, message)),
    close: () => {
      inOrder.flush();
      sequencer.close();
    },
  };
}
