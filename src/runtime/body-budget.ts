interface ReservedBody {
  bytes: number;
  displace(): void;
}

/** Bytes of the bodies of a sender. */
interface Sender {
  bytes: number;
  /** The bodies that are not whole yet, oldest first. */
  readonly incomplete: Set<ReservedBody>;
}

/** The bytes that a body has reserved. */
interface BodyShare {
  /** Reserves bytes for a part of the body; false if that would exceed the limit. */
  take(bytes: number): boolean;
  /** Keeps the bytes of a whole body reserved until {@link release}. */
  completed(): void;
  /** Gives all bytes back; may be called again. */
  release(): void;
}

/**
 * Limits the bytes in memory of all bodies. Above the limit, the sender that has the most bytes
 * loses its oldest incomplete body, so that slow bodies of one sender do not take the room of
 * others.
 */
export class BodyBudget {
  readonly #most: number;
  readonly #senders = new Map<string, Sender>();
  #used = 0;

  /** `most` is in bytes. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Reserved bytes. */
  get used(): number {
    return this.#used;
  }

  /** Begins a body; `giveUp` is called when it loses its bytes to another sender. */
  open(name: string, giveUp: () => void): BodyShare {
    const sender = this.#senders.get(name) ?? { bytes: 0, incomplete: new Set() };
    this.#senders.set(name, sender);
    const add = (bytes: number): void => {
      body.bytes += bytes;
      sender.bytes += bytes;
      this.#used += bytes;
    };
    const release = (): void => {
      add(-body.bytes);
      sender.incomplete.delete(body);
      const isIdle = sender.bytes === 0 && sender.incomplete.size === 0;
      if (isIdle && this.#senders.get(name) === sender) this.#senders.delete(name);
    };
    const body = {
      bytes: 0,
      displace(): void {
        release();
        giveUp();
      },
    };
    sender.incomplete.add(body);
    return {
      take: (bytes) => {
        const hasRoom = this.#makeRoom(sender, bytes);
        if (hasRoom) add(bytes);
        return hasRoom;
      },
      completed: () => void sender.incomplete.delete(body),
      release,
    };
  }

  #makeRoom(sender: Sender, bytes: number): boolean {
    while (this.#used + bytes > this.#most) {
      const largest = this.#largest();
      if (largest === undefined || sender.bytes + bytes > largest.bytes) return false;
      const oldest = [...largest.incomplete].find((body) => body.bytes > 0);
      if (oldest === undefined) return false;
      oldest.displace();
    }
    return true;
  }

  /** The sender that has the most bytes. */
  #largest(): Sender | undefined {
    let largest: Sender | undefined;
    for (const sender of this.#senders.values())
      if (sender.bytes > (largest?.bytes ?? 0)) largest = sender;
    return largest;
  }
}
