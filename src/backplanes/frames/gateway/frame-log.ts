import type { MachineFrame } from '../machines/machine-frame.js';

/** After two turns, a frame that is not confirmed is late. In ms. */
const TURN_MS = 250;
/** Beyond these, the oldest frames count as late. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_FRAMES = 10_000;

/**
 * The frames that the other one of gateway and deputy may not have. Those that it does not confirm in time are
 * late, and leave the log, which is bounded.
 */
export class FrameLog {
  private frames: MachineFrame[] = [];
  /** How many of them were there at the last turn. */
  private old = 0;
  private bytes = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onLate: (frame: MachineFrame) => void) {}

  add(frame: MachineFrame): void {
    this.frames.push(frame);
    this.bytes += frame.bytes.length;
    this.timer ??= setInterval(() => this.turn(), TURN_MS).unref();
    while (this.bytes > MAX_BYTES || this.frames.length > MAX_FRAMES) this.dropOldest();
  }

  /** The other one has the frames of these senders, up to these numbers. */
  confirm(numbers: ReadonlyMap<string, number>): void {
    const isOpen = ({ sender, number }: MachineFrame) => number > (numbers.get(sender) ?? 0);
    this.old = this.frames.slice(0, this.old).filter(isOpen).length;
    this.frames = this.frames.filter(isOpen);
    this.bytes = this.frames.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Empties the log. */
  takeAll(): MachineFrame[] {
    const { frames } = this;
    this.clear();
    return frames;
  }

  clear(): void {
    this.frames = [];
    this.old = 0;
    this.bytes = 0;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Time is counted in turns: a worker that is itself held up takes no other worker for stuck. */
  private turn(): void {
    while (this.old > 0) this.dropOldest();
    this.old = this.frames.length;
    if (this.old === 0) this.clear();
  }

  private dropOldest(): void {
    const frame = this.frames.shift();
    if (!frame) return;
    this.bytes -= frame.bytes.length;
    this.old = Math.max(0, this.old - 1);
    this.onLate(frame);
  }
}
