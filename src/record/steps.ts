/**
 * Traffic of clients, as `gjallar record` writes it and `gjallar compare` plays it: one step a line, in JSON.
 *
 * `at` is in ms since the recording began, and `client` names one client from its handshake to its end.
 */
export type Step =
  | (OfClient & { do: 'open'; transport: string; query?: Record<string, string> })
  | (OfClient & { do: 'upgrade' })
  | (OfNamespace & { do: 'connect'; auth?: unknown })
  /** The server has accepted the client: what others did from then on, it may have been told of. */
  | (OfNamespace & { do: 'connected' })
  | (OfNamespace & { do: 'emit'; event: string; args: unknown[]; ack?: boolean })
  /** What the client answers to the server's next event that asks for an acknowledgement. */
  | (OfNamespace & { do: 'answer'; args: unknown[] })
  | (OfNamespace & { do: 'leave' })
  | (OfClient & { do: 'close' })
  | { at: number; do: 'request'; method: string; path: string };

interface OfClient {
  at: number;
  client: string;
}

interface OfNamespace extends OfClient {
  namespace: string;
}

/** The first line of a file with traffic. */
export interface TrafficHeader {
  gjallar: 'traffic';
  version: 1;
}

export const trafficHeader: TrafficHeader = { gjallar: 'traffic', version: 1 };

/** Stands for an authentication payload that was removed. */
export const REMOVED_AUTH = 'removed';

/** How bytes are written: only their number is kept. */
export interface RecordedBytes {
  $bytes: number;
}

export function isRecordedBytes(value: unknown): value is RecordedBytes {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).length === 1 &&
    typeof (value as RecordedBytes).$bytes === 'number'
  );
}
