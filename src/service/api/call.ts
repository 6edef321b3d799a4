import type { HttpExchange } from '../../engine/http/exchange.js';
import type { EngineRequest } from '../../engine/http/request.js';
import type { Headers } from '../../io/http/headers.js';

/** The operator, as the log names them. */
export interface Caller {
  operator: string;
  address: string | undefined;
}

/** A query whose numbers are numbers. A value that is no plain integer stays a text, and is rejected later. */
export function withIntegers(query: Readonly<Record<string, string>>): Record<string, number | string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, /^\d{1,15}$/.test(value) ? Number(value) : value]),
  );
}

/** One call of the API. */
export interface Call {
  exchange: HttpExchange;
  request: EngineRequest;
  /** The parameters of the path, still percent-encoded. */
  parameters: string[];
  /** The headers of every response. */
  headers: Headers;
  /** The HTTP status of a successful response. */
  status: number;
}
