import type { HttpExchange } from '../engine/http/exchange.js';
import type { EngineRequest } from '../engine/http/request.js';

/** One call of the API. */
export interface Call {
  exchange: HttpExchange;
  request: EngineRequest;
  /** The parameters of the path, percent-encoded as they came. */
  parameters: string[];
  /** What a success is answered with. */
  status: number;
}
