import type { Writable } from '../uws/app.js';
import { compressedFrameOf, frameOf, opcodes } from './frames.js';

/** A message as a frame that is made once for all WebSockets that get it. */
export class OutgoingMessage {
  private readonly plain: Buffer;
  private compressed: Buffer | undefined = undefined;

  /** @param compresses whether it is compressed for those that have agreed to it */
  constructor(
    message: Writable,
    isBinary: boolean,
    private readonly compresses: boolean,
  ) {
    this.plain = frameOf(message, isBinary ? opcodes.binary : opcodes.text);
  }

  /** @param mayCompress whether the WebSocket has agreed to compression */
  frameFor(mayCompress: boolean): Buffer {
    if (!mayCompress || !this.compresses) return this.plain;
    this.compressed ??= compressedFrameOf(this.plain);
    return this.compressed;
  }
}
