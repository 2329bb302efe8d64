/** How many connections a server keeps, by who is at the other end. */
export interface ConnectionLimits {
  /** Connections whose TLS handshake is not done. */
  readonly pending: number;
  readonly pendingPerAddress: number;
  /**
   * Connections of clients that showed no certificate of the server's client authority; those of
   * the others count nowhere.
   */
  readonly strangers: number;
  readonly strangersPerAddress: number;
}

/** A connection, as far as it can be ended. */
export interface Endable {
  destroy(): void;
}

interface Connection {
  readonly socket: Endable;
  readonly address: string;
  /** Requests that are whole and not answered. */
  busy: number;
}

/** Connections of one kind, the oldest first. */
class Bounded {
  readonly #all: number;
  readonly #perAddress: number;
  readonly #connections = new Set<Connection>();
  readonly #counts = new Map<string, number>();

  constructor(all: number, perAddress: number) {
    [this.#all, this.#perAddress] = [all, perAddress];
  }

  get size(): number {
    return this.#connections.size;
  }

  has(connection: Connection): boolean {
    return this.#connections.has(connection);
  }

  /**
   * Adds a connection, and answers who has to go for it: the oldest that waits for no answer, or
   * the new one.
   */
  add(connection: Connection): Connection | undefined {
    const isFull = this.#connections.size >= this.#all;
    const isAddressFull = (this.#counts.get(connection.address) ?? 0) >= this.#perAddress;
    this.#connections.add(connection);
    this.#counts.set(connection.address, (this.#counts.get(connection.address) ?? 0) + 1);
    if (!isFull && !isAddressFull) return undefined;
    for (const candidate of this.#connections) {
      if (candidate.busy === 0 && (!isAddressFull || candidate.address === connection.address))
        return candidate;
    }
    return connection;
  }

  remove(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    const left = (this.#counts.get(connection.address) ?? 1) - 1;
    if (left === 0) this.#counts.delete(connection.address);
    else this.#counts.set(connection.address, left);
  }
}

/**
 * Bounds what strangers can take from a server. Over a limit the oldest idle connection ends rather
 * than the newest: a client that shows a certificate is through its handshake in milliseconds, and
 * a client that is answered goes on.
 */
export class Connections {
  readonly #connections = new Map<string, Connection>();
  readonly #pending: Bounded;
  readonly #strangers: Bounded;
  readonly #onEnded: () => void;

  constructor(
    { pending, pendingPerAddress, strangers, strangersPerAddress }: ConnectionLimits,
    onEnded: () => void,
  ) {
    this.#pending = new Bounded(pending, pendingPerAddress);
    this.#strangers = new Bounded(strangers, strangersPerAddress);
    this.#onEnded = onEnded;
  }

  /** Connections of now: whose handshake is not done, of strangers, and all. */
  load(): { readonly pending: number; readonly strangers: number; readonly all: number } {
    return {
      pending: this.#pending.size,
      strangers: this.#strangers.size,
      all: this.#connections.size,
    };
  }

  /** A connection was opened; `id` tells it from every other that is open. */
  opened(id: string, address: string, socket: Endable): void {
    const connection = { socket, address, busy: 0 };
    this.#connections.set(id, connection);
    this.#end(this.#pending.add(connection));
  }

  /** Its handshake is done, if it has one. */
  established(id: string, isKnown: boolean): void {
    const connection = this.#connections.get(id);
    if (connection === undefined || !this.#pending.has(connection)) return;
    this.#pending.remove(connection);
    if (!isKnown) this.#end(this.#strangers.add(connection));
  }

  /** A whole request came over it: it stays until that is answered. */
  began(id: string): void {
    const connection = this.#connections.get(id);
    if (connection !== undefined) connection.busy += 1;
  }

  /** That request was answered. */
  answered(id: string): void {
    const connection = this.#connections.get(id);
    if (connection !== undefined) connection.busy -= 1;
  }

  closed(id: string): void {
    const connection = this.#connections.get(id);
    this.#connections.delete(id);
    if (connection !== undefined) this.#forget(connection);
  }

  #end(connection: Connection | undefined): void {
    if (connection === undefined) return;
    this.#forget(connection);
    this.#onEnded();
    connection.socket.destroy();
  }

  #forget(connection: Connection): void {
    this.#pending.remove(connection);
    this.#strangers.remove(connection);
  }
}
