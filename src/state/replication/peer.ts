import { MalformedMessage } from '../../errors.js';

/** Other programs may make up workers on the backplane. */
const MAX_PEERS = 4096;

/** The other workers that are there, by name. */
export class Peers extends Map<string, Peer> {
  get isFull(): boolean {
    return this.size >= MAX_PEERS;
  }

  /** @throws MalformedMessage if there are too many */
  admit(node: string, peer: Peer): void {
    if (this.isFull) throw new MalformedMessage(`a message of one more worker than ${MAX_PEERS}`);
    this.set(node, peer);
  }
}

/** A run of messages that arrived behind missing ones. */
interface Run {
  from: number;
  to: number;
  clock: number;
}

/** How far this worker has received another one. */
export class Peer {
  /** Whether the missing messages are being asked for. */
  isPulling = false;
  /** When it was heard last, in ms. */
  heardAt = performance.now();
  /** The latest change of its own that has arrived in a room, if nothing before it is missing. */
  private readonly heads = new Map<string, number>();
  private ahead: Run | undefined;

  /**
   * @param sequence everything up to this message has been received
   * @param clock and with it all changes up to this time
   */
  constructor(
    public sequence: number,
    public clock: number,
  ) {}

  /** Whether messages are missing. */
  get hasGap(): boolean {
    return this.ahead !== undefined;
  }

  /** Whether all that it has changed in a room up to a time is here. */
  hasOwn(room: string, clock: number): boolean {
    return !this.hasGap && clock <= Math.max(this.clock, this.heads.get(room) ?? 0);
  }

  /** Changes of its own have arrived, up to this time. */
  changed(room: string, clock: number): void {
    if (!this.hasGap && clock > (this.heads.get(room) ?? 0)) this.heads.set(room, clock);
  }

  /** The room is closed here. */
  closed(room: string): void {
    this.heads.delete(room);
  }

  /** The number of the latest message that it seems to have sent. */
  get claimed(): number {
    return this.ahead?.to ?? this.sequence;
  }

  /** It has answered that it has sent this much, and all of it is here. What it seemed to have sent before is forged. */
  answered(sequence: number, clock: number, claimedBefore: number): void {
    this.caughtUp(sequence, clock);
    if (sequence < claimedBefore) this.ahead = undefined;
  }

  /** A message with changes has arrived. */
  received(sequence: number, clock: number): void {
    this.add({ from: sequence, to: sequence, clock });
  }

  /** The peer says that it has sent this much. */
  claims(sequence: number, clock: number): void {
    this.add({ from: sequence + 1, to: sequence, clock });
  }

  /** Everything up to this message is here. */
  caughtUp(sequence: number, clock: number): void {
    if (sequence < this.sequence) return;
    this.sequence = sequence;
    this.clock = Math.max(this.clock, clock);
    this.absorb();
  }

  private add(run: Run): void {
    this.heardAt = performance.now();
    if (run.from <= this.sequence + 1) this.caughtUp(run.to, run.clock);
    else if (!this.ahead || run.from > this.ahead.to + 1) this.ahead = run;
    else if (run.to >= this.ahead.to)
      this.ahead = { from: Math.min(run.from, this.ahead.from), to: run.to, clock: run.clock };
  }

  private absorb(): void {
    const { ahead } = this;
    if (!ahead || ahead.from > this.sequence + 1) return;
    this.ahead = undefined;
    if (ahead.to >= this.sequence) {
      this.sequence = ahead.to;
      this.clock = Math.max(this.clock, ahead.clock);
    }
  }
}
