import { type ErrorCode, GjallarError } from '../../base/errors.js';
import type { Config, MachineWorker, OwnPort } from '../../host/index.js';
import type { EngineRequest } from '../../index.js';
import type { Headers, HttpExchange } from '../../io/http/index.js';
import type { Chat } from '../chat/chat.js';
import type { KeptMessages } from '../chat/conversations/kept-messages.js';
import type { tokenRevocation } from '../chat/operator/tokens.js';

/** What the API acts on. It passes all input on unchecked. */
export interface Api {
  readonly chat: Chat;
  readonly config: Config;
  readonly worker: MachineWorker;
  readonly port: Pick<OwnPort, 'app' | 'engine' | 'secure' | 'admin'>;
  readonly tokens: ReturnType<typeof tokenRevocation>;
  readonly loss: KeptMessages['loss'];
}

/** One call of the API. */
export interface Call {
  readonly exchange: HttpExchange;
  readonly request: EngineRequest;
  /** The parameters of the path, still percent-encoded. */
  readonly parameters: readonly string[];
  /** The headers of every response. */
  readonly headers: Headers;
  /** The HTTP status of a successful response. */
  status: number;
}

/** Resolves with the fields of the response besides `ok`; undefined if it has responded itself. */
export type Operation = (call: Call, api: Api) => Promise<object | undefined>;

/**
 * A parameter of the path.
 * @throws GjallarError `code`, if it is not percent-encoded UTF-8
 */
export function segmentOf({ parameters }: Call, code: ErrorCode, index = 0): string {
  try {
    return decodeURIComponent(parameters[index]!);
  } catch {
    throw new GjallarError(code);
  }
}

/** A query whose numbers are numbers. A value that is no plain integer stays a text, and is rejected later. */
export function withIntegers(query: Readonly<Record<string, string>>): Record<string, number | string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, /^\d{1,16}$/.test(value) ? Number(value) : value]),
  );
}
