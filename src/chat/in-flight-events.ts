/** Counts the events of each connection that have no reply yet. */
export class InFlightEvents {
  private readonly counts = new Map<object, number>();

  has(connection: object): boolean {
    return this.counts.has(connection);
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
