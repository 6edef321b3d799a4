import { GjallarError } from '../../base/errors.js';

/** Decodes the percent-encoded room in a segment of a path. @throws GjallarError BAD_ROOM */
export function decodeRoom(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new GjallarError('BAD_ROOM');
  }
}
