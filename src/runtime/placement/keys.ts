import { type EngineRequest, RANK_HEADER } from '../../engine/http/request.js';
import type { PlaceBy } from '../../engine/options.js';

/**
 * Finds a query parameter as proxies do that hash it: not decoded, so that `a%20b` and `a+b` are two keys. Proxies differ
 * on names in capitals, on names that are repeated, and on the characters `;`, `?` and `#`. A client that uses such a
 * difference could come to one worker and count as one of another, so it has no key.
 */
export function parameterOf(name: string): PlaceBy {
  const pattern = new RegExp(`[?&;]${name}=([^?&;#]*)`, 'gi');
  const start = `${name}=`;
  return ({ url }) => {
    const [found, ...more] = url.matchAll(pattern);
    if (!found || more.length > 0 || !found[0].startsWith(start, 1)) return undefined;
    const before = url.slice(0, found.index);
    // nginx stops at `#`, and begins no parameter at `;` or at a second `?`, where HAProxy does.
    if (before.includes('#') || url[found.index] !== (before.includes('?') ? '&' : '?')) return undefined;
    const end = found.index + found[0].length;
    return end === url.length || url[end] === '&' ? found[1] : undefined;
  };
}

/**
 * The key of a client at the rank that the proxy has given it: the clients of each rank have a place of their own. Undefined for
 * a client without a key, and for one that went elsewhere because all workers of its key were full.
 */
export function rankedKey(key: string | undefined, { headers }: EngineRequest): string | undefined {
  const rank = headers[RANK_HEADER];
  if (!key || rank === undefined || rank === '0') return key;
  // A parameter cannot contain the character between them.
  return /^[1-9]\d?$/.test(rank) ? `${key}#${rank}` : undefined;
}
