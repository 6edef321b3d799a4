import type { Packet } from 'socket.io-parser';
import { IncompletePacket } from '../incoming/incomplete-packets.js';
import type { Session } from '../session/session.js';
import { Decoder } from './socket-io-parser.js';

/** The data of a longer text than this is not kept while the attachments arrive: objects take up to 24 times as much. */
const MAX_PARSED = 1024;

/** The longest start of a text that is not parsed at once. */
const MAX_START = 1024;

/** Where there is no session to say it: the limit of socket.io-parser. */
const MAX_ATTACHMENTS = 10;

/** The text and the attachments of a packet whose text is long. */
interface LongPacket {
  readonly text: Buffer;
  readonly attachments: unknown[];
  readonly count: number;
}

/** A packet with attachments. Reads its text, then each attachment. */
export class BinaryPacket {
  private readonly decoder: InstanceType<typeof Decoder>;
  private readonly incomplete: IncompletePacket | undefined;
  private long: LongPacket | undefined;

  /**
   * @param session the client's; undefined if the engine is not gjallar's
   * @param onDecoded called with the complete packet
   */
  constructor(session: Session | undefined, onDecoded: (packet: Packet) => void) {
    this.incomplete = session && new IncompletePacket(session.incompletePackets, session);
    this.decoder = new Decoder(this.limits);
    this.decoder.on('decoded', (packet: Packet) => {
      this.incomplete?.end();
      onDecoded(packet);
    });
  }

  private get limits(): { maxAttachments: number } {
    return { maxAttachments: this.incomplete?.maxAttachments ?? MAX_ATTACHMENTS };
  }

  /** Reads the text or an attachment. If it breaks the protocol, throws the error of socket.io-parser. */
  add(data: unknown): void {
    const isLong = typeof data === 'string' && data.length > MAX_PARSED;
    // If the session has been ended, nothing waits for the packet.
    if (this.incomplete?.add(data as string | Uint8Array, isLong) === false) return;
    if (this.incomplete && typeof data === 'string' && announcedIn(data) > this.incomplete.maxAttachments)
      return this.incomplete.onTooMany();
    if (this.long) this.addAttachment(this.long, data);
    else if (isLong) this.long = readLong(data, this.limits);
    // A part of a long payload would keep all of it in memory, as the name of a namespace does.
    else this.decoder.add(typeof data === 'string' ? Buffer.from(data).toString() : data);
  }

  end(): void {
    this.incomplete?.end();
    this.decoder.destroy();
    this.long = undefined;
  }

  private addAttachment({ text, attachments, count }: LongPacket, data: unknown): void {
    attachments.push(data);
    // A text in place of an attachment is an error, which the decoder throws.
    if (typeof data !== 'string' && attachments.length < count) return;
    this.long = undefined;
    this.decoder.add(text.toString());
    for (const attachment of attachments) this.decoder.add(attachment);
  }
}

/** How many attachments a text announces; NaN if it does not say. */
const announcedIn = (text: string): number => Number(/^\d(\d{1,15})-/.exec(text)?.[1]);

/** What stands before the data: type, number of attachments, namespace and number of the acknowledgement. */
const START = /^\d\d*-(?:\/[^,]*,)?\d*/;

/** Checks the start of a text, and keeps it as it is. Its data is parsed once the attachments are there. */
function readLong(text: string, limits: { maxAttachments: number }): LongPacket {
  const start = START.exec(text)?.[0] ?? text;
  if (start.length > MAX_START || text[start.length] !== '[') throw new Error('invalid payload');
  const decoder = new Decoder(limits);
  decoder.add(start);
  decoder.destroy();
  return { text: Buffer.from(text), attachments: [], count: Number(text.slice(1, text.indexOf('-'))) };
}
