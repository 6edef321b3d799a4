import { inspect } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { EngineRequest } from './request.js';

/** What an application has put on the request of a handshake, in a form that another worker can take over. */
export interface Additions {
  /** All properties of the request that are the application's, in the order in which they were added. */
  names: string[];
  /** Those that move. The others come from middleware, which runs again on the other worker. */
  values: Record<string, unknown>;
  /** Values without a prototype, such as the cookies of cookie-parser. Cloning would give them one. */
  bare: string[];
}

type Properties = Record<PropertyKey, unknown>;
type Descriptors = Record<PropertyKey, PropertyDescriptor>;

/** Applications hardly keep more for one client. Larger ones would delay what other clients send between the workers. */
const MAX_BYTES = 65_536;

const ownProperties = ((): ReadonlySet<PropertyKey> => {
  const request = new EngineRequest({ method: '', url: '', headers: {}, remoteAddress: '', encrypted: false });
  // An emitter creates its fields with its first listener.
  request.setMaxListeners(0).on('close', () => {});
  return new Set(Reflect.ownKeys(request));
})();

const propertiesOf = (request: EngineRequest) => Reflect.ownKeys(request).filter((key) => !ownProperties.has(key));

/** The properties of requests, when their middleware had run. A getter must not be called for it: it may throw. */
const afterMiddleware = new WeakMap<EngineRequest, Descriptors>();

/** Call it when the middleware has run for a handshake: it runs again if the session moves. */
export function noteMiddleware(request: EngineRequest): void {
  afterMiddleware.set(request, Object.getOwnPropertyDescriptors(request));
}

/**
 * What the application has put on the request since {@link noteMiddleware}, and what its middleware has put there if all
 * of it can be cloned.
 * @returns undefined if something cannot move, such as a function, an object of a class, or a listener
 */
export function additionsOf(request: EngineRequest): Additions | undefined {
  if (request.eventNames().length > 0) return undefined;
  const now: Descriptors = Object.getOwnPropertyDescriptors(request);
  const before = afterMiddleware.get(request) ?? {};
  const all = propertiesOf(request);
  const later = all.filter(
    (key) => !Object.is(now[key]!.value, before[key]?.value) || now[key]!.get !== before[key]?.get,
  );
  const cloned = clonesOf(now, all) ?? clonesOf(now, later);
  return cloned && { ...cloned, names: all.filter((key) => typeof key === 'string') };
}

function clonesOf(properties: Descriptors, keys: (string | symbol)[]): Omit<Additions, 'names'> | undefined {
  const bare: string[] = [];
  // Middleware and `allowRequest` may change the parameters, too.
  const values: Record<string, unknown> = { _query: properties._query!.value };
  for (const key of keys) {
    const { value, enumerable, get } = properties[key]!;
    if (typeof key === 'symbol' || !enumerable || get) return undefined;
    const isBare = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
    if (isBare) bare.push(key);
    values[key] = isBare ? { ...value } : value;
  }
  return canClone({ values, headers: properties.headers!.value }) ? { values, bare } : undefined;
}

/** An object of a class would lose its methods, so the clone must look like the value. */
function canClone(value: unknown): boolean {
  try {
    const bytes = serialize(value);
    return bytes.length <= MAX_BYTES && shown(deserialize(bytes)) === shown(value);
  } catch {
    return false;
  }
}

/** Names the classes of objects. Unlike a comparison, it holds objects of several contexts, as in Jest, for equal. */
function shown(value: unknown): string {
  const all = Number.POSITIVE_INFINITY;
  return inspect(value, { depth: all, maxArrayLength: all, maxStringLength: all, customInspect: false });
}

/** Puts on a request what {@link additionsOf} has returned on another worker. Middleware has run for the request. */
export function addTo(request: EngineRequest, { names, values, bare }: Additions): void {
  const properties = request as unknown as Properties;
  for (const key of propertiesOf(request)) {
    if (typeof key === 'string' && !names.includes(key)) delete properties[key];
  }
  for (const name of bare) values[name] = Object.assign(Object.create(null), values[name]);
  Object.assign(properties, values);
}
