import { closeSync, fstatSync, openSync, writeSync } from 'node:fs';
import type { Step } from './steps.js';

/** How long steps wait until they are written together, in ms. */
const WRITE_EVERY_MS = 250;
/** With this number of bytes, nothing waits any longer. */
const WRITE_AT = 65_536;
/** A step that is larger is left out, in bytes. */
const MAX_STEP = 65_536;

export interface TrafficFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** Called once, when the next step would make the file larger than `maxBytes`. */
  onFull(): void;
}

/** Appends steps to a file that exists, and stops at its bound. Steps are lost only if the process is killed. */
export class TrafficFile {
  /** Steps that were too large. */
  leftOut = 0;
  private readonly descriptor: number;
  private waiting = '';
  private timer: NodeJS.Timeout | undefined;
  private isFull = false;

  constructor(private readonly options: TrafficFileOptions) {
    this.descriptor = openSync(options.path, 'a');
  }

  get isOpen(): boolean {
    return !this.isFull;
  }

  add(step: Step): void {
    if (this.isFull) return;
    const line = `${JSON.stringify(step)}\n`;
    if (Buffer.byteLength(line) > MAX_STEP) {
      this.leftOut++;
      return;
    }
    this.waiting += line;
    if (this.waiting.length >= WRITE_AT) return this.write();
    // A timer must not keep the application from ending.
    this.timer ??= setTimeout(() => this.write(), WRITE_EVERY_MS).unref();
  }

  /** Writes what waits: whole steps, up to the bound. */
  write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.isFull || this.waiting === '') return;
    const free = this.options.maxBytes - fstatSync(this.descriptor).size;
    const waiting = Buffer.from(this.waiting);
    this.waiting = '';
    if (waiting.length <= free) return void writeSync(this.descriptor, waiting);
    const end = waiting.subarray(0, Math.max(0, free)).lastIndexOf('\n') + 1;
    if (end > 0) writeSync(this.descriptor, waiting.subarray(0, end));
    this.isFull = true;
    closeSync(this.descriptor);
    this.options.onFull();
  }
}
