import { GjallarError } from '../../errors.js';
import type { StateFormat, StateReader, StateRoom } from '../../state/index.js';
import { pairsOf } from './pairs.js';

/** A part of a snapshot, and the version after it. */
interface Part {
  pairs: string;
  version: string;
  isLast: boolean;
}

/** How many parts are encoded ahead of the reader. */
const MAX_PARTS = 8;

/**
 * Reads the state of a room in parts, as fast as they are taken: the changes as JSON, and the version at the end. A key
 * that changes meanwhile can come twice, its newer value later.
 * @param onEnd registers what is called when the room is removed
 * @throws GjallarError NOT_FOUND if the room is removed meanwhile
 */
export async function* snapshotOf(room: StateRoom, onEnd: (listener: () => void) => void): AsyncGenerator<Part> {
  const parts: Part[] = [];
  let isRemoved = false;
  let wake = (): void => {};
  // The room may change faster than the reader reads.
  const goal = room.stats().changes;
  const format: StateFormat = {
    name: 'snapshot',
    prefix: '',
    encode(chunk, { version, more }) {
      parts.push({ pairs: pairsOf(chunk), version, isLast: !more || chunk.to >= goal });
      return [];
    },
  };
  const reader: StateReader = {
    topicSocket: undefined,
    get bufferedAmount() {
      return parts.length < MAX_PARTS ? 0 : 1;
    },
    send: () => wake(),
  };
  const leave = room.joinReader(reader, format);
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
      yield part;
      if (part.isLast) return;
    }
  } finally {
    leave();
  }
}
