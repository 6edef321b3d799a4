import { type Recovery, type RoomMessage, Rooms } from '../../../../public/gjallar-client.js';
import { type ChatClient, connect } from '../../../support/clients.js';

export const quick = { reconnectionDelay: 10, reconnectionDelayMax: 50, timeout: 2000 };

/** A member whose messages are kept as they come. */
export class Member {
  readonly heard: RoomMessage[] = [];
  readonly recoveries: Recovery[] = [];
  readonly socket: ChatClient;
  readonly rooms: Rooms;
  private changed: (() => void) | undefined;

  constructor(url: string, transports?: string[]) {
    this.socket = connect(url, { ...quick, transports });
    this.rooms = new Rooms(this.socket);
  }

  join(room: string, last = 0) {
    return this.rooms.join(room, {
      last,
      onMessage: (message) => {
        this.heard.push(message);
        this.changed?.();
      },
      onRecovered: (recovery) => {
        this.recoveries.push(recovery);
        this.changed?.();
      },
    });
  }

  async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) {
      await new Promise<void>((resolve) => {
        this.changed = resolve;
      });
    }
  }

  offsets(): (number | undefined)[] {
    return this.heard.map(({ offset }) => offset);
  }
}

/** The numbers from one to another. */
export const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
