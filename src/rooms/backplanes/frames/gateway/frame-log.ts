import type { MachineFrame } from '../machines/machine-frame.js';

/** After two turns, the deputy hands on a frame that the gateway has not. In ms. */
const TURN_MS = 250;
/** Beyond these, the deputy hands the oldest frames on at once. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_FRAMES = 10_000;

/**
 * The frames that the gateway of this machine may not have handed on yet, as its deputy keeps them. The deputy hands on
 * those that the gateway does not confirm in time. So no frame is lost while the gateway is stuck, or when it dies, and the
 * log is bounded.
 */
export class FrameLog {
  private frames: MachineFrame[] = [];
  /** How many of them were there at the last turn. */
  private old = 0;
  private bytes = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly handOn: (frame: MachineFrame) => void) {}

  add(frame: MachineFrame): void {
    this.frames.push(frame);
    this.bytes += frame.bytes.length;
    this.timer ??= setInterval(() => this.turn(), TURN_MS).unref();
    while (this.bytes > MAX_BYTES || this.frames.length > MAX_FRAMES) this.handOnOldest();
  }

  /** The gateway has handed on the frames of these senders, up to these numbers. */
  confirm(numbers: ReadonlyMap<string, number>): void {
    const isOpen = ({ sender, number }: MachineFrame) => number > (numbers.get(sender) ?? 0);
    this.old = this.frames.slice(0, this.old).filter(isOpen).length;
    this.frames = this.frames.filter(isOpen);
    this.bytes = this.frames.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Hands on all frames: this worker is the gateway now. */
  handOnAll(): void {
    while (this.frames.length > 0) this.handOnOldest();
  }

  clear(): void {
    this.frames = [];
    this.old = 0;
    this.bytes = 0;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Time is counted in turns: a worker that is itself held up takes no gateway for stuck. */
  private turn(): void {
    while (this.old > 0) this.handOnOldest();
    this.old = this.frames.length;
    if (this.old === 0) this.clear();
  }

  private handOnOldest(): void {
    const frame = this.frames.shift();
    if (!frame) return;
    this.bytes -= frame.bytes.length;
    this.old = Math.max(0, this.old - 1);
    this.handOn(frame);
  }
}
