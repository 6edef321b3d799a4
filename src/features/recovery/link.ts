import { type Asked, FeatureLink, type Wire } from '../hub-link.js';
import {
  type DataPacker,
  type KeeperFigures,
  MAX_HANG_MS,
  noFigures,
  type ToKeeper,
  type ToWorker,
  WINDOW_MS,
} from './messages.js';
import type { NamespaceRecovery } from './namespace-recovery.js';

/** How long a worker waits for the answer of its keeper, in ms. */
const MAX_WAIT_MS = 5000;

/** This worker's end of the link to the keeper of its machine, for all of its namespaces. */
export class KeeperLink extends FeatureLink<ToKeeper, ToWorker> {
  figures: KeeperFigures = noFigures;
  private readonly namespaces = new Map<string, NamespaceRecovery>();

  constructor(
    wire: Wire<ToKeeper, ToWorker>,
    readonly packer: DataPacker,
  ) {
    super(wire, WINDOW_MS);
    this.open();
  }

  add(namespace: string, listener: NamespaceRecovery): void {
    this.namespaces.set(namespace, listener);
    if (this.isHere) listener.introduce(false);
  }

  remove(namespace: string, listener: NamespaceRecovery): void {
    // A client may have made a namespace of the same name meanwhile.
    if (this.namespaces.get(namespace) !== listener) return;
    this.send({ type: 'close', namespace });
    this.namespaces.delete(namespace);
  }

  /** Resolves with the answer, or with undefined if there is no keeper, or none that answers. */
  override ask<Reply extends ToWorker>(question: Asked<ToKeeper>): Promise<Reply | undefined> {
    return super.ask<Reply>(question, question.type === 'find' ? MAX_HANG_MS + MAX_WAIT_MS : MAX_WAIT_MS);
  }

  protected introduce(isAgain: boolean): void {
    for (const listener of this.namespaces.values()) listener.introduce(isAgain);
  }

  protected postChanges(): void {
    for (const listener of this.namespaces.values()) listener.postChanges();
  }

  protected onMessage(message: ToWorker): void {
    switch (message.type) {
      case 'found':
        // The worker waits for it no longer, so its client has got a new session.
        if (message.found.outcome === undefined)
          this.post({ type: 'failed', namespace: message.namespace, pid: message.found.session.pid });
        return;
      case 'removed':
      case 'synced':
        return;
      case 'figures':
        this.figures = message.figures;
        return;
      case 'post':
        return this.send({ type: 'posted', answers: message.request });
      case 'taking':
        return this.namespaces.get(message.namespace)?.onTaking(message);
      case 'end':
        return this.namespaces.get(message.namespace)?.onEnd(message.pid);
      case 'joined':
        return this.namespaces.get(message.namespace)?.onJoined(message.room);
      case 'lost':
        return this.namespaces.get(message.namespace)?.onLost(message.ms);
      case 'ended':
        return this.namespaces.get(message.namespace)?.onEnded(message.sender, message.last);
      case 'tail':
        return this.namespaces.get(message.namespace)?.onTail(message.sender, message.packets);
      case 'expired':
        return this.namespaces.get(message.namespace)?.onExpired(message.session);
    }
  }
}
