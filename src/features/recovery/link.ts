import { type Asked, FeatureLink, type Wire } from '../hub-link.js';
import { type DataPacker, type KeeperFigures, noFigures, type ToKeeper, type ToWorker, WINDOW_MS } from './messages.js';
import type { NamespaceRecovery } from './namespace-recovery.js';

/** How long a worker waits for the answer of its keeper, in ms. */
const MAX_WAIT_MS = 5000;

/** This worker's end of the link to the keeper of its machine, for all of its namespaces. */
export class KeeperLink extends FeatureLink<ToKeeper, ToWorker> {
  figures: KeeperFigures = noFigures;
  private readonly spaces = new Map<string, NamespaceRecovery>();

  constructor(
    wire: Wire<ToKeeper, ToWorker>,
    readonly packer: DataPacker,
  ) {
    super(wire, WINDOW_MS);
    this.open();
  }

  add(space: string, listener: NamespaceRecovery): void {
    this.spaces.set(space, listener);
    if (this.isHere) listener.introduce(false);
  }

  remove(space: string, listener: NamespaceRecovery): void {
    // A client may have made a namespace of the same name meanwhile.
    if (this.spaces.get(space) !== listener) return;
    this.send({ type: 'close', space });
    this.spaces.delete(space);
  }

  /** Resolves with the answer, or with undefined if there is no keeper, or none that answers. */
  override ask<Reply extends ToWorker>(question: Asked<ToKeeper>): Promise<Reply | undefined> {
    return super.ask<Reply>(question, MAX_WAIT_MS);
  }

  protected introduce(isAgain: boolean): void {
    for (const listener of this.spaces.values()) listener.introduce(isAgain);
  }

  protected postChanges(): void {
    for (const listener of this.spaces.values()) listener.postChanges();
  }

  protected onMessage(message: ToWorker): void {
    switch (message.type) {
      case 'found':
        // The worker waits for it no longer, so its client has got a new session.
        if (message.found.outcome === undefined)
          this.post({ type: 'failed', space: message.space, pid: message.found.session.pid });
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
        return this.spaces.get(message.space)?.onTaking(message);
      case 'end':
        return this.spaces.get(message.space)?.onEnd(message.pid);
      case 'joined':
        return this.spaces.get(message.space)?.onJoined(message.room);
      case 'lost':
        return this.spaces.get(message.space)?.onLost(message.ms);
      case 'ended':
        return this.spaces.get(message.space)?.onEnded(message.sender, message.last);
      case 'tail':
        return this.spaces.get(message.space)?.onTail(message.sender, message.packets);
      case 'expired':
        return this.spaces.get(message.space)?.onExpired(message.session);
    }
  }
}
