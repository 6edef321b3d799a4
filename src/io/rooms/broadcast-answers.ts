import type { Socket } from 'socket.io';
import { Adapter, type BroadcastOptions, type SocketId } from 'socket.io-adapter';
import { type BroadcastPacket, broadcastStepsOf, forgetAcknowledgement, nspOf } from '../socket-io.private.js';

/** A broadcast that waits for the acknowledgements of clients. */
interface Pending {
  /** The client has answered, or is gone. */
  settle(sid: SocketId): void;
}

/**
 * Broadcasts whose acknowledgements the clients of this server owe.
 *
 * Socket.IO counts the clients when it sends, and waits for all of them until the timeout, also for those that have left. Here
 * the count follows once each client has answered or is gone: it is the number of answers.
 */
export class BroadcastAnswers {
  private readonly bySid = new Map<SocketId, Set<Pending>>();

  constructor(private readonly adapter: Adapter) {}

  /**
   * Does what `Adapter.broadcastWithAck()` does.
   * @param onCount called once, after the last answer, with their number
   */
  broadcast(
    packet: BroadcastPacket,
    options: BroadcastOptions,
    onCount: (answers: number) => void,
    onAnswer: (...values: unknown[]) => void,
  ): void {
    const { adapter } = this;
    const waiting = new Set<SocketId>();
    let answers = 0;
    let timer: NodeJS.Timeout | undefined;
    const endIfComplete = () => {
      if (waiting.size > 0) return;
      clearTimeout(timer);
      onCount(answers);
    };
    const pending: Pending = {
      settle: (sid) => {
        if (waiting.delete(sid)) endIfComplete();
      },
    };
    const onAcknowledgement = ({ id }: Socket, values: unknown[]) => {
      answers++;
      onAnswer(...values);
      this.forget(id, pending);
      pending.settle(id);
    };
    this.send(packet, options, onAcknowledgement, (sid) => {
      waiting.add(sid);
      this.bySid.set(sid, (this.bySid.get(sid) ?? new Set()).add(pending));
    });
    endIfComplete();
    if (waiting.size === 0) return;
    timer = setTimeout(() => {
      const { sockets } = nspOf(adapter);
      for (const sid of waiting) {
        this.forget(sid, pending);
        forgetAcknowledgement(sockets.get(sid), packet);
      }
      waiting.clear();
    }, options.flags?.timeout);
  }

  /** A client has left. */
  gone(sid: SocketId): void {
    const pending = this.bySid.get(sid);
    this.bySid.delete(sid);
    for (const one of pending ?? []) one.settle(sid);
  }

  private send(
    packet: BroadcastPacket,
    options: BroadcastOptions,
    onAcknowledgement: (socket: Socket, values: unknown[]) => void,
    onRecipient: (sid: SocketId) => void,
  ): void {
    const { adapter } = this;
    const steps = broadcastStepsOf(adapter);
    const { apply } = steps;
    steps.apply = (to, deliver) =>
      apply.call(adapter, to, (socket) => {
        onRecipient(socket.id);
        deliver(socket);
      });
    try {
      // The base class calls it for each socket as its method.
      const ack = function (this: Socket, ...values: unknown[]) {
        onAcknowledgement(this, values);
      };
      Adapter.prototype.broadcastWithAck.call(adapter, packet, options, () => {}, ack);
    } finally {
      steps.apply = apply;
    }
  }

  private forget(sid: SocketId, pending: Pending): void {
    const all = this.bySid.get(sid);
    if (all?.delete(pending) && all.size === 0) this.bySid.delete(sid);
  }
}
