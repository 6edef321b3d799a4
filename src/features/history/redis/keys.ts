/**
 * The number of logs of changes. A conversation's keys share a hash tag with the log of its bucket, so that one script
 * can write them all on a Redis Cluster too. To change the number would orphan all messages.
 */
export const BUCKETS = 64;

/** The names of the keys, `gjallar:{history:<bucket>}:…`. */
export class Keys {
  constructor(private readonly prefix: string) {}

  of(conversation: string) {
    const bucket = bucketOf(conversation);
    return {
      meta: `${this.tag(bucket)}meta:${conversation}`,
      stream: this.stream(bucket, conversation),
      log: this.log(bucket),
      due: this.due(bucket),
      check: `${this.tag(bucket)}check`,
      low: this.low(bucket, conversation),
    };
  }

  stream(bucket: number, conversation: string): string {
    return `${this.tag(bucket)}stream:${conversation}`;
  }

  /** The oldest offset that is kept or erased, and not trimmed, if messages were erased. */
  low(bucket: number, conversation: string): string {
    return `${this.tag(bucket)}low:${conversation}`;
  }

  /** The appends in their order: a stream of conversation, first offset, count, first tag, and the tag before. */
  log(bucket: number): string {
    return `${this.tag(bucket)}log`;
  }

  /** When the oldest message of each conversation reaches its TTL. */
  due(bucket: number): string {
    return `${this.tag(bucket)}due`;
  }

  /** An idempotency key. The length separates the conversation's name from the key. */
  key(conversation: string, key: string): string {
    return `${this.tag(bucketOf(conversation))}key:${conversation.length}:${conversation}:${key}`;
  }

  private tag(bucket: number): string {
    return `${this.prefix}{history:${bucket}}:`;
  }
}

/** FNV-1a over the UTF-16 code units. */
function bucketOf(conversation: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < conversation.length; i++) {
    hash = Math.imul(hash ^ conversation.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) % BUCKETS;
}
