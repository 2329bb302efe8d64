/** Maximum numbers of connections of a server, by kind of client. */
export interface ConnectionLimits {
  /** Connections whose TLS handshake is not complete. */
  readonly pending: number;
  readonly pendingPerAddress: number;
  /**
   * Connections of clients without a certificate signed by the server's client CA; connections of
   * other clients have no limit here.
   */
  readonly strangers: number;
  readonly strangersPerAddress: number;
}

/** A connection that can be closed. */
export interface Endable {
  destroy(): void;
}

interface Connection {
  readonly socket: Endable;
  readonly address: string;
  /** Number of complete requests without a response. */
  busy: number;
}

/** Connections of one kind, oldest first. */
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
   * Adds a connection. Above a limit, returns the connection to close: the oldest one without a
   * pending request, or the new one.
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
 * Limits the connections of clients without a certificate. Above a limit, the oldest idle
 * connection is closed, not the newest: a client with a certificate completes its handshake in
 * milliseconds, and a connection with a pending request is kept.
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

  /**
   * Current numbers of connections: in the TLS handshake, of clients without a certificate, and
   * all.
   */
  load(): { readonly pending: number; readonly strangers: number; readonly all: number } {
    return {
      pending: this.#pending.size,
      strangers: this.#strangers.size,
      all: this.#connections.size,
    };
  }

  /** Records a new connection; `id` is unique among the open ones. */
  opened(id: string, address: string, socket: Endable): void {
    const connection = { socket, address, busy: 0 };
    this.#connections.set(id, connection);
    this.#end(this.#pending.add(connection));
  }

  /** Records the end of the TLS handshake; without TLS, call it at once. */
  established(id: string, isKnown: boolean): void {
    const connection = this.#connections.get(id);
    if (connection === undefined || !this.#pending.has(connection)) return;
    this.#pending.remove(connection);
    if (!isKnown) this.#end(this.#strangers.add(connection));
  }

  /** Records a complete request; the connection is kept until the response. */
  began(id: string): void {
    const connection = this.#connections.get(id);
    if (connection !== undefined) connection.busy += 1;
  }

  /** Records the response to a request. */
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
