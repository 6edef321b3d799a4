/** How often a member is sent a mark at most while little is sent to it, in ms. */
export const MARK_MS = 250;
/** A mark that is not acknowledged within this time and a round trip shows that the client does not read, in ms. */
const UNREAD_MS = 500;
/** A round trip that takes longer is no reason to wait longer, in ms. */
const MAX_ROUND_TRIP_MS = 2000;
/** After this time, a client that acknowledges nothing gets something all the same: its message may be lost, in ms. */
const AGAIN_MS = 5000;
/** Bytes after a mark for which a client need not have acknowledged it. The number doubles while it acknowledges in time. */
const MIN_WINDOW_BYTES = 65_536;
const MAX_WINDOW_BYTES = 4_194_304;

/**
 * What a member has read that acknowledges. The kernel takes megabytes for a client that does not read, so only the client
 * itself can say. One mark is awaited at a time.
 */
export class Marks {
  /** The mark that is awaited; 0 for none. */
  private awaited = 0;
  private sentAt = 0;
  /** The shortest time that an acknowledgement took, in ms. */
  private roundTripMs = MAX_ROUND_TRIP_MS;
  private isMeasured = false;
  /** Bytes since the last mark. */
  private bytes = 0;
  private windowBytes = MIN_WINDOW_BYTES;

  /** Whether what is sent next must have a mark. */
  isDue(now: number): boolean {
    if (this.awaited > 0) return this.isLate(now);
    return this.bytes >= MIN_WINDOW_BYTES || now - this.sentAt >= MARK_MS;
  }

  /** A message with a mark has been sent. */
  sent(mark: number, now: number): void {
    if (this.awaited > 0 && !this.isLate(now)) return;
    this.awaited = mark;
    this.sentAt = now;
    this.bytes = 0;
  }

  count(bytes: number): void {
    this.bytes += bytes;
  }

  acknowledge(mark: number, now: number): void {
    if (this.awaited === 0 || mark < this.awaited) return;
    this.windowBytes = this.isLate(now) ? MIN_WINDOW_BYTES : Math.min(2 * this.windowBytes, MAX_WINDOW_BYTES);
    this.awaited = 0;
    this.roundTripMs = Math.min(this.roundTripMs, now - this.sentAt);
    this.isMeasured = true;
  }

  /** Whether the client has not read what it was sent for too long. */
  isLate(now: number): boolean {
    const roundTripMs = this.isMeasured ? this.roundTripMs : 0;
    return this.awaited > 0 && now - this.sentAt > UNREAD_MS + roundTripMs;
  }

  /** How long the client is sent nothing unless it acknowledges, in ms. */
  waitMs(now: number): number {
    if (this.awaited === 0 || (this.bytes <= this.windowBytes && !this.isLate(now))) return 0;
    return Math.max(0, this.sentAt + AGAIN_MS - now);
  }
}
