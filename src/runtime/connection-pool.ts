import type { Server, Socket } from "node:net";
import { aborted, sleep, type Timers } from "./clock.ts";
import { ItemsByOwner } from "./items-by-owner.ts";
import { addressOf, idOf, networkOf } from "./peer.ts";

/** Maximum numbers of open connections of a server. */
export interface ConnectionLimits {
  readonly all: number;
  /**
   * Those of clients that have presented no accepted credential, unfinished TLS handshakes
   * included.
   */
  readonly unauthenticated: number;
  /**
   * So many connections without an accepted credential are not closed for the sake of others: a
   * client whose user has taken all connections could otherwise close each new one of another user
   * before its first request.
   */
  readonly reserved: number;
}

/**
 * The limits of every server. A TLS connection takes about 50 kB, so clients without a credential
 * take at most 50 MB, and all clients 205 MB of the 512 MiB that a container may have. A
 * kube-apiserver opens a connection for each of its concurrent requests, 600 by default
 * (`--max-requests-inflight`, `--max-mutating-requests-inflight`), at once after a replica has
 * stopped.
 */
export const connectionLimits: ConnectionLimits = {
  all: 4_096,
  unauthenticated: 1_024,
  reserved: 512,
};

/** A connection that can be closed. */
interface Endable {
  destroy(): void;
}

/** An open connection of a client. */
export interface Connection {
  /** Records that the client has presented an accepted credential; the last owner counts. */
  accepted(owner: string): void;
  /** Records a request. */
  began(): OpenRequest;
}

/** A request under way on a connection. */
export interface OpenRequest {
  /** The user whose credential was accepted for this request; before, the client's address. */
  readonly owner: string;
  /** Records that a credential of this user was accepted. */
  accepted(user: string): void;
  /**
   * Records that the whole answer was given. Without an accepted credential, a client that does not
   * read it does not make its connection a busy one.
   */
  answered(): void;
  /** Records the end of the request; may be called again. */
  closed(): void;
}

/**
 * Limits the connections of a server. A new connection is never refused: above a limit, another one
 * is closed. Of the clients without an accepted credential, it is the oldest connection of the
 * address that has the most; of the users with one, the oldest connection of the user that has the
 * most. In both cases, a connection without a request under way goes first. So a client that opens
 * many connections closes its own, and clients that share the address of a load balancer lose only
 * connections that have not presented a credential yet.
 */
export class ConnectionPool {
  readonly #limits: ConnectionLimits;
  readonly #onClosed: () => void;
  readonly #byId = new Map<string, OpenConnection>();
  readonly #unauthenticated: Group = new ItemsByOwner();
  readonly #accepted: Group = new ItemsByOwner();
  /** Number of connections so far. */
  #opened = 0;
  #onEmpty = (): void => {};

  /** `onClosed` is called for each connection that is closed for the sake of another one. */
  constructor(limits: ConnectionLimits, onClosed: () => void) {
    this.#limits = limits;
    this.#onClosed = onClosed;
  }

  /** Current numbers of connections. */
  load(): { readonly unauthenticated: number; readonly all: number } {
    const unauthenticated = this.#unauthenticated.size;
    return { unauthenticated, all: unauthenticated + this.#accepted.size };
  }

  /**
   * Records a new connection; `id` is unique among the open ones. Returns a function that records
   * its end.
   */
  opened(id: string, address: string, socket: Endable): () => void {
    const connection = new OpenConnection(address, { socket, accepted: this.#accepted });
    this.#byId.set(id, connection);
    this.#opened += 1;
    connection.enter(this.#unauthenticated, address);
    const displaced = this.#displacedBy(connection);
    if (displaced !== undefined) {
      displaced.leave();
      this.#onClosed();
      displaced.socket.destroy();
    }
    return () => {
      if (this.#byId.get(id) === connection) this.#byId.delete(id);
      connection.leave();
      if (this.load().all === 0) this.#onEmpty();
    };
  }

  /**
   * Resolves when no connection is open and none was opened for `quietMs`, or when the signal
   * aborts: a new connection proves that its sender does not know yet that the server stops.
   */
  async abandoned(
    quietMs: number,
    { clock, signal }: { readonly clock: Timers; readonly signal: AbortSignal },
  ): Promise<void> {
    let before: number;
    do {
      before = this.#opened;
      await sleep(quietMs, { clock, signal });
      const empty = new AbortController();
      this.#onEmpty = () => empty.abort();
      if (this.load().all > 0) await aborted(AbortSignal.any([signal, empty.signal]));
    } while (this.#opened > before && !signal.aborted);
  }

  /** The connection with this id; what happens on one that is closed is not recorded. */
  of(id: string): Connection {
    return this.#byId.get(id) ?? closedConnection;
  }

  /** Closes every connection. */
  closeAll(): void {
    for (const { socket } of this.#byId.values()) socket.destroy();
  }

  /** The connection to close now that there is a new one. */
  #displacedBy(added: OpenConnection): OpenConnection | undefined {
    const { all, unauthenticated, reserved } = this.#limits;
    const load = this.load();
    if (load.unauthenticated > unauthenticated) return oldest(this.#unauthenticated, added);
    if (load.all <= all) return undefined;
    const [first, second] =
      load.unauthenticated > reserved
        ? [this.#unauthenticated, this.#accepted]
        : [this.#accepted, this.#unauthenticated];
    return oldest(first, added) ?? oldest(second, added);
  }
}

type Group = ItemsByOwner<OpenConnection>;

/**
 * The oldest connection of the owner that has the most, if possible without a request under way.
 */
function oldest(group: Group, except: OpenConnection): OpenConnection | undefined {
  let first: OpenConnection | undefined;
  for (const connection of group.ofLargestOwner()) {
    if (connection === except) continue;
    if (connection.requests === 0) return connection;
    first ??= connection;
  }
  return first;
}

class OpenConnection implements Connection {
  readonly address: string;
  readonly socket: Endable;
  readonly #accepted: Group;
  /** Where it counts; undefined once it is closed. */
  #group: Group | undefined;
  #owner = "";
  /** Number of requests under way. */
  requests = 0;

  constructor(
    address: string,
    { socket, accepted }: { readonly socket: Endable; readonly accepted: Group },
  ) {
    [this.address, this.socket, this.#accepted] = [address, socket, accepted];
  }

  enter(group: Group, owner: string): void {
    this.leave();
    [this.#group, this.#owner] = [group, owner];
    group.add(owner, this);
  }

  leave(): void {
    this.#group?.remove(this.#owner, this);
    this.#group = undefined;
  }

  accepted(owner: string): void {
    const isSame = this.#group === this.#accepted && owner === this.#owner;
    if (this.#group !== undefined && !isSame) this.enter(this.#accepted, owner);
  }

  began(): OpenRequest {
    this.requests += 1;
    return new RequestUnderWay(this);
  }
}

class RequestUnderWay implements OpenRequest {
  readonly #connection: OpenConnection;
  #user: string | undefined;
  #isOver = false;

  constructor(connection: OpenConnection) {
    this.#connection = connection;
  }

  get owner(): string {
    return this.#user ?? this.#connection.address;
  }

  accepted(user: string): void {
    this.#user = user;
    this.#connection.accepted(user);
  }

  answered(): void {
    if (this.#user === undefined) this.closed();
  }

  closed(): void {
    if (!this.#isOver) this.#connection.requests -= 1;
    this.#isOver = true;
  }
}

const closedConnection: Connection = {
  accepted() {},
  began: () => ({ owner: "", accepted() {}, answered() {}, closed() {} }),
};

/** Records the connections of a server, from `accept()` on. */
export function recordConnections(server: Server, connections: ConnectionPool): void {
  server.on("connection", (socket: Socket) => {
    const network = networkOf(addressOf(socket));
    socket.once("close", connections.opened(idOf(socket), network, socket));
  });
}
