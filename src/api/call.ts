import type { HttpExchange } from '../engine/http/exchange.js';
import type { EngineRequest } from '../engine/http/request.js';

/** One call of the API. */
export interface Call {
  exchange: HttpExchange;
  request: EngineRequest;
  /** The parameters of the path, still percent-encoded. */
  parameters: string[];
  /** The HTTP status of a successful response. */
  status: number;
}
