import { Adapter, type BroadcastOptions, type SocketId } from 'socket.io-adapter';
import type { BroadcastPacket } from '../socket-io.private.js';
import { BroadcastAnswers } from './broadcast-answers.js';

/** The adapter of a server that has no others. */
export class LocalAdapter extends Adapter {
  private readonly answers = new BroadcastAnswers(this);

  override broadcastWithAck(
    packet: BroadcastPacket,
    options: BroadcastOptions,
    onCount: (count: number) => void,
    onAnswer: (...values: unknown[]) => void,
  ): void {
    this.answers.broadcast(packet, options, onCount, onAnswer);
  }

  override delAll(id: SocketId): void {
    this.answers.gone(id);
    super.delAll(id);
  }

  /** No other server is there to answer. The base class would let the application wait for ever. */
  override serverSideEmit(packet: unknown[]): void {
    const answer = packet.at(-1);
    if (typeof answer === 'function') answer(null, []);
  }
}

/** Whether an adapter joins its server with others. Stock socket.io's own adapter throws if it is asked to. */
export function hasOthers(adapter: Adapter): boolean {
  const { serverSideEmit } = adapter;
  return (
    serverSideEmit !== Adapter.prototype.serverSideEmit && serverSideEmit !== LocalAdapter.prototype.serverSideEmit
  );
}
