import type { Namespace } from 'socket.io';
import { MalformedMessage } from '../../../base/errors.js';
import type { HubService } from '../../../base/hub-service.js';
import { thisProcess } from '../../../base/process.js';
import { hasOthers, type ServiceChannel, serviceOf } from '../../../io/rooms/index.js';
import { inProcess } from '../../hub-link.js';
import { SequencerClient } from '../replica/client.js';
import {
  decodeFromMachine,
  encodeStateMessage,
  type FromSequencer,
  type ToMachine,
  type ToSequencer,
} from './messages.js';
import { Sequencer } from './sequencer.js';

/** The client of a sequencer in this process, whose clock it shares. */
export function localClient(nsp: Namespace): SequencerClient {
  let channel: ServiceChannel | undefined;
  let sequencer: Sequencer | undefined;
  const isShared = hasOthers(nsp.adapter);
  const { wire, service } = inProcess<ToSequencer, FromSequencer, ToMachine>(
    (host) => (sequencer = new Sequencer(host)),
    'state',
    isShared
      ? { sendToHub: (process, message) => channel?.send(encodeStateMessage(message).toString('base64'), process) }
      : undefined,
  );
  if (isShared) channel = joinProcesses(nsp, service);
  const close = () => {
    wire.close();
    channel?.send(BYE);
    channel?.close();
  };
  return new SequencerClient({ ...wire, close }, sequencer!.clock);
}

/** The event between processes. */
const EVENT = 'gjallar:state';
/** Answers a process that asks who is here. */
const HERE = '';
const BYE = 'bye';

/** Other processes that an adapter of the application's own joins: each is a machine to the others, met with its first message. */
function joinProcesses(nsp: Namespace, service: HubService<ToSequencer, ToMachine>): ServiceChannel {
  const known = new Set<string>();
  const meet = (process: string) => {
    if (known.has(process)) return;
    known.add(process);
    service.onHubHere(process);
  };
  const lose = (process: string) => {
    if (known.delete(process)) service.onHubGone(process);
  };
  const channel = serviceOf(nsp, EVENT, (reason) => thisProcess.reports.malformed('state', reason))({
    onMessage: (message, from) => {
      if (typeof message !== 'string') throw new MalformedMessage('a message of state rooms is no text');
      if (message === BYE) return lose(from);
      meet(from);
      if (message !== HERE) service.onHubMessage(from, decodeFromMachine(Buffer.from(message, 'base64')));
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
