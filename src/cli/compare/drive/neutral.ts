import { createHash } from 'node:crypto';

/** Longer texts are compared by their hash, in characters. */
const MAX_TEXT = 2000;
const DAY_MS = 86_400_000;
const isoDate = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?/g;

/** Replaces what differs in each run: ids of sockets, the port, times, and bytes by their hash. */
export class Neutral {
  private readonly names = new Map<string, string>();

  constructor(private readonly port: number) {}

  /** From now on, `id` is shown as `name`. */
  name(id: string | undefined, name: string): void {
    if (id) this.names.set(id, `<id of ${name}>`);
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'number') return Math.abs(value - Date.now()) < DAY_MS ? '<time>' : value;
    if (value instanceof ArrayBuffer) return bytes(new Uint8Array(value));
    if (ArrayBuffer.isView(value)) return bytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    if (Array.isArray(value)) return value.map((one) => this.value(one));
    if (typeof value !== 'object' || value === null) return value === undefined ? null : value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [this.text(key), this.value(one)]));
  }

  text(text: string): string {
    let neutral = text;
    for (const [id, name] of this.names) neutral = neutral.replaceAll(id, name);
    neutral = neutral.replaceAll(isoDate, '<time>').replaceAll(`:${this.port}`, ':<port>');
    return neutral.length > MAX_TEXT ? `${neutral.length} characters, ${hash(Buffer.from(neutral))}` : neutral;
  }
}

const bytes = (content: Uint8Array) => `${content.length} bytes, ${hash(content)}`;
const hash = (content: Uint8Array) => createHash('sha256').update(content).digest('hex').slice(0, 16);
