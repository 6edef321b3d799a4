import { crc32 } from 'node:zlib';
import type { MachineFrame } from '../machines/machine-frame.js';

/** How many numbers are remembered at first, and at most. Powers of two. */
const MIN_SIZE = 64;
const MAX_SIZE = 8192;
/** A number that is further back than this cannot be that of a repeated frame. */
const MAX_DISTANCE = 8 * MAX_SIZE;

/**
 * The last frames of a sender that were handled, by their numbers and checksums. A number alone proves nothing: it may be
 * forged or corrupt, and a sender that restarts counts from 1 again.
 */
export class HandledFrames {
  /** Each number has one place, which it shares with those a multiple of the size away. 0 is no number of a frame. */
  private numbers = new Float64Array(MIN_SIZE);
  private sums = new Uint32Array(MIN_SIZE);

  add(number: number, bytes: Uint8Array): void {
    while (this.isTaken(number) && this.numbers.length < MAX_SIZE) this.grow();
    const place = number % this.numbers.length;
    this.numbers[place] = number;
    this.sums[place] = crc32(bytes);
  }

  /** Whether a frame with this number is remembered. */
  has(number: number): boolean {
    return this.numbers[number % this.numbers.length] === number;
  }

  /** Whether this very frame is remembered. */
  hasFrame(number: number, bytes: Uint8Array): boolean {
    return this.has(number) && this.sums[number % this.numbers.length] === crc32(bytes);
  }

  /** Whether a frame with this number may have been handled so long ago that it is forgotten. */
  mayHaveForgotten(number: number): boolean {
    const newer = this.numbers[number % this.numbers.length]!;
    return newer > number && newer - number <= MAX_DISTANCE;
  }

  /** Whether another number has the place of this one. */
  private isTaken(number: number): boolean {
    const there = this.numbers[number % this.numbers.length]!;
    return there !== 0 && there !== number;
  }

  private grow(): void {
    const { numbers, sums } = this;
    this.numbers = new Float64Array(2 * numbers.length);
    this.sums = new Uint32Array(2 * numbers.length);
    for (const [index, number] of numbers.entries()) {
      const place = number % this.numbers.length;
      this.numbers[place] = number;
      this.sums[place] = sums[index]!;
    }
  }
}

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
