/** Calls a listener whenever all connections and subscriptions are there, for the first time or again. */
export class Renewal {
  onRenewed: () => Promise<void> = () => Promise.resolve();
  /** The present connections and subscriptions, from the moment that all of them are there. */
  private current: { isDone: boolean } | undefined;

  /** @param onDone called when {@link isDone} may have changed */
  constructor(private readonly onDone: () => void) {}

  /**
   * Whether the listener has finished.
   * @param isConnected whether all connections and subscriptions are there
   */
  isDone(isConnected: boolean): boolean {
    if (!isConnected) this.current = undefined;
    else if (!this.current) {
      const begun = { isDone: false };
      this.current = begun;
      void this.onRenewed().then(() => {
        begun.isDone = true;
        this.onDone();
      });
    }
    return this.current?.isDone === true;
  }
}
