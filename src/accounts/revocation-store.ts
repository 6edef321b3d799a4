/** One field to write. The store leaves the field alone if another caller has changed it since it was read. */
export interface FieldChange {
  readonly field: string;
  /** What the caller has read; undefined if the field was missing. */
  readonly from: string | undefined;
  /** What the field becomes; undefined removes it. */
  readonly to: string | undefined;
}

/**
 * Where revocations are kept, for all workers and machines: a map of fields, whose values are texts. An implementation
 * must keep them over restarts, and must reject in bounded time if it cannot be reached.
 */
export interface RevocationStore {
  read(): Promise<ReadonlyMap<string, string>>;
  /** Makes the changes in their order. Resolves with whether all fields were still what the caller had read. */
  replace(changes: readonly FieldChange[]): Promise<boolean>;
  /** Calls back each time the store can be reached again. */
  onReturn?(listener: () => void): void;
  close(): Promise<void>;
}
