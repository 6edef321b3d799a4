/** With this number of events without a reply, further reads of a client are rejected. */
export const MAX_IN_FLIGHT = 100;

/** Counts the events of each connection that have no reply yet. */
export class InFlightEvents {
  private readonly counts = new Map<object, number>();

  has(connection: object): boolean {
    return this.counts.has(connection);
  }

  isFull(connection: object): boolean {
    return (this.counts.get(connection) ?? 0) >= MAX_IN_FLIGHT;
  }

  begin(connection: object): void {
    this.counts.set(connection, (this.counts.get(connection) ?? 0) + 1);
  }

  end(connection: object): void {
    const left = this.counts.get(connection)! - 1;
    if (left > 0) this.counts.set(connection, left);
    else this.counts.delete(connection);
  }
}
