interface Writing {
  requests: number;
  /** Whether one of them has created the room, and none has changed it since. */
  isNew: boolean;
}

/** The requests of this worker that are about to change a room, by the room's name. */
export class Writers {
  private readonly byRoom = new Map<string, Writing>();

  has(name: string): boolean {
    return this.byRoom.has(name);
  }

  begin(name: string): void {
    const writing = this.byRoom.get(name) ?? { requests: 0, isNew: false };
    writing.requests++;
    this.byRoom.set(name, writing);
  }

  /** A request that has begun creates the room. */
  created(name: string): void {
    this.byRoom.get(name)!.isNew = true;
  }

  /** A request that has begun has changed the room. */
  changed(name: string): void {
    this.byRoom.get(name)!.isNew = false;
  }

  /** Returns whether the room was created in vain: all requests that were about to change it have failed. */
  end(name: string): boolean {
    const writing = this.byRoom.get(name)!;
    if (--writing.requests > 0) return false;
    this.byRoom.delete(name);
    return writing.isNew;
  }
}
