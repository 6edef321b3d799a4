/** One thing that a client does, in the order in which `gjallar compare` plays them. `client` names the client. */
export type Step =
  | { do: 'open'; client: string; transport: string; query?: Record<string, string> }
  | { do: 'upgrade'; client: string }
  | { do: 'connect'; client: string; namespace: string; auth?: Record<string, unknown> }
  | { do: 'emit'; client: string; namespace: string; event: string; args: unknown[]; ack?: boolean }
  /** What the client answers to the server's next event that asks for an acknowledgement. */
  | { do: 'answer'; client: string; namespace: string; args: unknown[] }
  | { do: 'leave'; client: string; namespace: string }
  | { do: 'close'; client: string }
  | { do: 'request'; method: string; path: string };
