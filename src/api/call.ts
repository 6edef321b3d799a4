import type { HttpExchange } from '../engine/http/exchange.js';
import type { EngineRequest } from '../engine/http/request.js';
import type { Headers } from '../http/headers.js';

/** The operator, as the log names them. */
export interface Caller {
  operator: string;
  address: string | undefined;
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
