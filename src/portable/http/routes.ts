/** A route for any method. */
const ANY = '*';

interface Entry<Handler> {
  method: string;
  handler: Handler;
}

/**
 * The routes of an app. As in uWebSockets.js, a route for the exact path comes before one that ends in `*`, a longer
 * pattern before a shorter one, and of one pattern a route for the method before one for any.
 */
export class Routes<Handler> {
  private readonly exact = new Map<string, Entry<Handler>[]>();
  private readonly prefixes: { prefix: string; entries: Entry<Handler>[] }[] = [];

  add(pattern: string, handler: Handler, method = ANY): void {
    const entries = pattern.endsWith('*') ? this.below(pattern.slice(0, -1)) : this.at(pattern);
    if (method === ANY) entries.push({ method, handler });
    else entries.splice(lastOf(entries), 0, { method, handler });
  }

  /** The handlers for a path, in the order in which they are asked. */
  *matching(path: string, method = ANY): Iterable<Handler> {
    yield* of(this.exact.get(path), method);
    for (const { prefix, entries } of this.prefixes) if (path.startsWith(prefix)) yield* of(entries, method);
  }

  private at(path: string): Entry<Handler>[] {
    const known = this.exact.get(path);
    if (known) return known;
    const entries: Entry<Handler>[] = [];
    this.exact.set(path, entries);
    return entries;
  }

  private below(prefix: string): Entry<Handler>[] {
    const known = this.prefixes.find((each) => each.prefix === prefix);
    if (known) return known.entries;
    const added = { prefix, entries: [] };
    this.prefixes.push(added);
    this.prefixes.sort((one, other) => other.prefix.length - one.prefix.length);
    return added.entries;
  }
}

function* of<Handler>(entries: Entry<Handler>[] | undefined, method: string): Iterable<Handler> {
  if (!entries) return;
  for (const { method: own, handler } of entries) if (own === method || own === ANY) yield handler;
}

/** Where the next route for one method belongs: behind those that are there, and before those for any method. */
function lastOf(entries: Entry<unknown>[]): number {
  const first = entries.findIndex(({ method }) => method === ANY);
  return first === -1 ? entries.length : first;
}
