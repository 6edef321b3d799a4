import { GjallarError } from '../../../base/errors.js';
import type { StateFormat, StateReader } from '../../../features/state/members/format.js';
import type { LocalStateRoom as StateRoom } from '../../../features/state/room.js';
import { pairsOf } from './pairs.js';

/** A part of a snapshot, and the version after it. */
interface Part {
  /** A comma before each. */
  pairs: string;
  version: string;
  isLast: boolean;
  /** Bytes of the parts that are encoded already and follow. */
  ahead: number;
}

/** How many bytes are encoded ahead of the reader; more if a single value has more. */
const MAX_AHEAD_BYTES = 262_144;

/** Readers of the same room that are equally far share what is encoded. */
const snapshotFormat: StateFormat = {
  name: 'snapshot',
  prefix: '',
  encode: (chunk, { version, more }) => {
    const pairs = pairsOf(chunk);
    return [pairs && `,${pairs}`, version, more ? `${chunk.to}` : ''];
  },
};

/**
 * Reads the state of a room in parts, as fast as they are taken: the changes as JSON, and the version at the end. A key
 * that changes meanwhile can come twice, its newer value later.
 * @param onEnd registers what is called when the room is removed
 * @throws GjallarError NOT_FOUND if the room is removed meanwhile
 */
export async function* snapshotOf(room: StateRoom, onEnd: (listener: () => void) => void): AsyncGenerator<Part> {
  const parts: Omit<Part, 'ahead'>[] = [];
  let ahead = 0;
  let isRemoved = false;
  let wake = (): void => {};
  // The room may change faster than the reader reads.
  const goal = room.stats().changes;
  const reader: StateReader = {
    topicSocket: undefined,
    get bufferedAmount() {
      return ahead < MAX_AHEAD_BYTES ? 0 : ahead;
    },
    send: (messages) => {
      const [pairs, version, next] = messages as [string, string, string];
      ahead += pairs.length;
      parts.push({ pairs, version, isLast: next === '' || Number(next) >= goal });
      wake();
    },
  };
  const leave = room.joinReader(reader, snapshotFormat);
  onEnd(() => {
    isRemoved = true;
    wake();
  });
  try {
    for (;;) {
      if (parts.length === 0 && !isRemoved) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const part = parts.shift();
      if (!part) throw new GjallarError('NOT_FOUND', 'The state room was removed meanwhile.');
      ahead -= part.pairs.length;
      yield { ...part, ahead };
      if (part.isLast) return;
    }
  } finally {
    leave();
  }
}
