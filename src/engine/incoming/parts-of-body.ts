const EMPTY = Buffer.alloc(0);
/** The least memory that a body of several parts takes. */
const MIN_SIZE = 4096;

/** A body that arrives in parts. It takes at most about twice its length in memory, however short the parts are. */
export class PartsOfBody {
  private bytes = EMPTY;
  /** How long it is. */
  length = 0;

  /** The memory that it takes. */
  get size(): number {
    return this.bytes.length;
  }

  /** What has come so far. It is valid until the next part is added. */
  get soFar(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /** Adds a copy of a part. */
  add(part: ArrayBuffer | Uint8Array): void {
    const { bytes, length } = this;
    const total = length + part.byteLength;
    const data = part instanceof Uint8Array ? part : new Uint8Array(part);
    this.length = total;
    if (length === 0) {
      // Most bodies come in one part.
      this.bytes = Buffer.from(data);
      return;
    }
    if (total > bytes.length) {
      this.bytes = Buffer.allocUnsafeSlow(Math.max(MIN_SIZE, total, 2 * bytes.length));
      this.bytes.set(bytes.subarray(0, length));
    }
    this.bytes.set(data, length);
  }

  /** The whole body, which is forgotten here. */
  take(): Buffer {
    const body = this.bytes.subarray(0, this.length);
    this.bytes = EMPTY;
    this.length = 0;
    return body;
  }
}
