import type { Namespace } from 'socket.io';
import { MalformedMessage } from '../../../base/errors.js';
import { own } from '../../../base/owner.js';
import { thisProcess } from '../../../base/process.js';
import { hasOthers, type ServiceChannel, serviceOf } from '../../../io/rooms/index.js';
import type { SequencerLink } from '../replica/client.js';
import { decodeFromMachine, type FromSequencer } from './messages.js';
import { Sequencer } from './sequencer.js';

/** The only worker of a sequencer in its own process. */
const SELF = 0;

/** A sequencer in the process of its only worker. */
export function localLink(nsp: Namespace): SequencerLink {
  let onMessage = (_message: FromSequencer): void => {};
  let channel: ServiceChannel | undefined;
  const isShared = hasOthers(nsp.adapter);
  const sequencer = new Sequencer({
    hasOthers: isShared,
    isLocal: true,
    sendToWorker: (_worker, message) => onMessage(message),
    sendToMachine: (process, message) => channel?.send(message.toString('base64'), process),
  });
  if (isShared) channel = joinProcesses(nsp, sequencer);
  return {
    isLocal: true,
    clock: sequencer.clock,
    send: (message) => {
      checked(() => sequencer.onMessage(SELF, message));
      return true;
    },
    listen: (listener) => {
      onMessage = listener.onMessage;
      listener.onHere();
    },
    close: () => {
      own('closing the state rooms', sequencer.close());
      channel?.send(BYE);
      channel?.close();
    },
  };
}

/** Reports a message that is malformed. */
function checked(handle: () => void): void {
  try {
    handle();
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    malformed(error.message);
  }
}

const malformed = (reason: string) => thisProcess.reports.malformed('state', reason);

/** The event between processes. */
const EVENT = 'gjallar:state';
/** Answers a process that asks who is here. */
const HERE = '';
const BYE = 'bye';

/** Other processes that an adapter of the application's own joins: each is a machine to the others, met with its first message. */
function joinProcesses(nsp: Namespace, sequencer: Sequencer): ServiceChannel {
  const known = new Set<string>();
  const meet = (process: string) => {
    if (known.has(process)) return;
    known.add(process);
    sequencer.onMachineHere(process);
  };
  const lose = (process: string) => {
    if (known.delete(process)) sequencer.onMachineGone(process);
  };
  const channel = serviceOf(
    nsp,
    EVENT,
    malformed,
  )({
    onMessage: (message, from) => {
      if (typeof message !== 'string') throw new MalformedMessage('a message of state rooms is no text');
      if (message === BYE) return lose(from);
      meet(from);
      if (message !== HERE) sequencer.onMachineMessage(from, decodeFromMachine(Buffer.from(message, 'base64')));
    },
    onHere: (process, isNew) => {
      if (isNew) lose(process);
      meet(process);
      channel.send(HERE, process);
    },
    onGone: lose,
  });
  return channel;
}
