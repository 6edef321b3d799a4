/** A route for any method. */
const ANY = '*';

interface Entry<Target> {
  pattern: string;
  method: string;
  target: Target;
}

/**
 * The routes of an app. As in uWebSockets.js, a route for the exact path comes before one that ends in `*`, a longer
 * pattern before a shorter one, and of one pattern a route for the method before one for any.
 */
export class Routes<Target> {
  private readonly entries: Entry<Target>[] = [];

  add(pattern: string, target: Target, method = ANY): void {
    this.entries.push({ pattern, method, target });
    this.entries.sort((one, other) => rankOf(other) - rankOf(one));
  }

  /** The route for a path. */
  first(path: string, method = ANY): Target | undefined {
    return this.entries.find((entry) => (entry.method === ANY || entry.method === method) && matches(entry, path))
      ?.target;
  }
}

function matches({ pattern }: Entry<unknown>, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

/** The higher, the earlier it is looked at. */
function rankOf({ pattern, method }: Entry<unknown>): number {
  const length = pattern.endsWith('*') ? pattern.length : Number.MAX_SAFE_INTEGER / 4;
  return 2 * length + (method === ANY ? 0 : 1);
}
