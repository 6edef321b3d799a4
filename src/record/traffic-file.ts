import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { Step } from './steps.js';

/** How long steps wait until they are written together, in ms. */
const WRITE_EVERY_MS = 250;
/** With this number of bytes, nothing waits any longer. */
const WRITE_AT = 65_536;
/** A step that is larger is left out, in bytes. */
const MAX_STEP = 65_536;
/** Only the owner may read what clients send. */
const MODE = 0o600;

export interface TrafficFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** Called once, when the next step would make the file larger than `maxBytes`. */
  onFull(): void;
  /** Called once, when the file cannot be written any more. */
  onFailed(error: Error): void;
}

/**
 * Appends steps to a file, and stops at its bound, or when the file cannot be written: the application goes on. Steps are
 * lost only then, or if the process is killed.
 */
export class TrafficFile {
  /** Steps that were too large. */
  leftOut = 0;
  private descriptor: number | undefined;
  private waiting = '';
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: TrafficFileOptions) {
    this.attempt(() => {
      this.descriptor = openSync(options.path, 'a', MODE);
    });
  }

  get isOpen(): boolean {
    return this.descriptor !== undefined;
  }

  add(step: Step): void {
    if (!this.isOpen) return;
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
    const { descriptor, waiting } = this;
    this.waiting = '';
    if (descriptor === undefined || waiting === '') return;
    this.attempt(() => {
      const { size } = fstatSync(descriptor);
      const free = Math.max(0, this.options.maxBytes - size);
      const bytes = Buffer.from(waiting);
      if (bytes.length <= free) return writeAll(descriptor, bytes, size);
      writeAll(descriptor, wholeLines(bytes, free), size);
      this.close();
      this.options.onFull();
    });
  }

  /** The disk may be full, or gone. This runs within the application's own requests, and must not throw. */
  private attempt(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.close();
      this.options.onFailed(error as Error);
    }
  }

  private close(): void {
    const { descriptor } = this;
    this.descriptor = undefined;
    if (descriptor === undefined) return;
    try {
      closeSync(descriptor);
    } catch {
      // On some file systems, closing reports a write that has failed.
    }
  }
}

/** Appends bytes to a file of this size. If that fails halfway, whole lines stay. */
function writeAll(descriptor: number, bytes: Buffer, size: number): void {
  let at = 0;
  try {
    while (at < bytes.length) at += writeSync(descriptor, bytes, at);
  } catch (error) {
    // Another process may have appended its own steps meanwhile.
    const isLast = at > 0 && fstatSync(descriptor).size === size + at;
    if (isLast) ftruncateSync(descriptor, size + wholeLines(bytes, at).length);
    throw error;
  }
}

function wholeLines(bytes: Buffer, length: number): Buffer {
  return bytes.subarray(0, bytes.subarray(0, length).lastIndexOf('\n') + 1);
}
