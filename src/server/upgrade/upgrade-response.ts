/** The head of an application's response to an upgrade. The application writes it to the socket as text. */
export interface UpgradeHead {
  readonly status: number;
  /** The chosen protocol; empty for none. */
  readonly protocol: string;
  /** Names and values alternate. Headers that uWebSockets.js writes itself are left out. */
  readonly headers: readonly string[];
  readonly text: string;
}

const ownHeaders = new Set(['upgrade', 'connection', 'sec-websocket-accept', 'sec-websocket-protocol']);

/** The maximum length of a head. */
const MAX_HEAD_BYTES = 65_536;

/** Collects the writes of an application until the head is complete. */
export class UpgradeHeadReader {
  private data = Buffer.alloc(0);

  /** Returns the head once it is complete, and the bytes after it. */
  push(piece: Buffer): { head: UpgradeHead; rest: Buffer } | undefined {
    this.data = Buffer.concat([this.data, piece]);
    const end = this.data.indexOf('\r\n\r\n');
    if (end === -1) {
      if (this.data.length > MAX_HEAD_BYTES) throw new Error('The answer to an upgrade has no head');
      return undefined;
    }
    return { head: read(this.data.toString('latin1', 0, end)), rest: this.data.subarray(end + 4) };
  }
}

function read(text: string): UpgradeHead {
  const [first = '', ...lines] = text.split('\r\n');
  const headers: string[] = [];
  let protocol = '';
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon === -1) continue;
    const name = line.slice(0, colon);
    const key = name.toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (key === 'sec-websocket-protocol') protocol = value;
    if (!ownHeaders.has(key)) headers.push(name, value);
  }
  return { status: Number(first.split(' ')[1]), protocol, headers, text };
}
