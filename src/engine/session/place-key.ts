import type { EngineRequest } from '../http/request.js';
import type { PlaceBy } from '../options.js';

/**
 * The key of a client; undefined for one without a key.
 * @param onFault called if `placeBy` fails, or returns something else than text and undefined
 */
export function keyOf(
  { url, headers, _query: query }: EngineRequest,
  placeBy: PlaceBy,
  onFault: (fault: unknown) => void = () => {},
): string | undefined {
  try {
    const key: unknown = placeBy({ url, headers, query });
    if (typeof key === 'string') return key === '' ? undefined : key;
    if (key === undefined || key === null) return undefined;
    // The rejection of a promise would end the worker otherwise.
    if (key instanceof Promise) key.catch(() => {});
    onFault(
      new TypeError(`placeBy returned ${key instanceof Promise ? 'a promise' : `a value of type ${typeof key}`}`),
    );
  } catch (error) {
    onFault(error);
  }
  return undefined;
}
