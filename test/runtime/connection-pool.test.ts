import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ConnectionLimits, ConnectionPool } from "../../src/runtime/connection-pool.ts";

const limits: ConnectionLimits = { all: 12, unauthenticated: 6, reserved: 3 };

/** ConnectionPool of a server; those that a test opens have an id, an address, and a user at most. */
function opening(most = limits) {
  const closed: string[] = [];
  let refused = 0;
  const ends = new Map<string, () => void>();
  const connections = new ConnectionPool(most, () => (refused += 1));
  const open = (id: string, address: string): void => {
    const destroy = (): void => void closed.push(id);
    ends.set(id, connections.opened(id, address, { destroy }));
  };
  const openMany = (count: number, name: string, address = name): void => {
    for (let index = 0; index < count; index += 1) open(`${name}${index}`, address);
  };
  /** ConnectionPool with an accepted credential of a user. */
  const log = (count: number, user: string, address = "lb"): void => {
    for (let index = 0; index < count; index += 1) {
      open(`${user}${index}`, address);
      connections.of(`${user}${index}`).accepted(user);
    }
  };
  return {
    connections,
    open,
    openMany,
    log,
    closed,
    refused: () => refused,
    endOf: (id: string) => ends.get(id) ?? (() => {}),
  };
}

describe("a new connection closes another one", () => {
  type Server = ReturnType<typeof opening>;
  it.each<[string, (server: Server) => void, readonly string[]]>([
    [
      "no connection below the limits",
      ({ log, openMany }) => {
        log(6, "alice");
        openMany(6, "a");
      },
      [],
    ],
    [
      "the oldest of the same address, if that has the most without a credential",
      ({ open, openMany }) => {
        open("honest", "b");
        openMany(7, "a");
      },
      ["a0", "a1"],
    ],
    [
      "of the address that has the most, if it is another one",
      ({ open, openMany }) => {
        openMany(6, "a");
        open("honest", "b");
        open("honest2", "b");
      },
      ["a0", "a1"],
    ],
    [
      "the oldest of all, if each has another address",
      ({ open }) => {
        for (let index = 0; index < 8; index += 1) open(`a${index}`, `address-${index}`);
      },
      ["a0", "a1"],
    ],
    [
      "none with an accepted credential, behind the same address as those without",
      ({ log, openMany }) => {
        log(4, "alice");
        openMany(9, "a", "lb");
      },
      ["a0", "a1", "a2"],
    ],
    [
      "one without a credential, if all are full",
      ({ log, openMany }) => {
        log(8, "alice");
        openMany(5, "a");
      },
      ["a0"],
    ],
    [
      "the oldest of the user that has the most, if the others are as many as are reserved",
      ({ log, openMany }) => {
        log(2, "alice");
        log(8, "mallory");
        openMany(5, "a");
      },
      ["mallory0", "a0", "a1"],
    ],
    [
      "of its own user, if that user has taken all",
      ({ log }) => {
        log(1, "alice");
        log(13, "mallory");
      },
      ["mallory0", "mallory1"],
    ],
  ])("%s", (_rule, arrive, expected) => {
    const server = opening();
    arrive(server);
    expect([server.closed, server.refused()]).toEqual([expected, expected.length]);
  });
});

describe("a connection with a request under way", () => {
  it("is closed after those without one", () => {
    const { connections, openMany, open, closed } = opening();
    openMany(6, "a");
    const requests = ["a0", "a1"].map((id) => connections.of(id).began());
    open("a6", "a");
    requests[0]?.closed();
    requests[0]?.closed();
    open("a7", "a");
    open("a8", "a");
    expect(closed).toEqual(["a2", "a0", "a3"]);
  });

  it("is closed, the oldest first, if all others have one too, and not the new one", () => {
    const { connections, openMany, closed } = opening();
    openMany(6, "a");
    for (let index = 0; index < 6; index += 1) connections.of(`a${index}`).began();
    openMany(1, "new", "a");
    expect(closed).toEqual(["a0"]);
  });

  it("whose client does not read the answer is idle without a credential, and not with one", () => {
    for (const [user, expected] of [
      [undefined, "a0"],
      ["a", "a1"],
    ] as const) {
      const { connections, openMany, log, open, closed } = opening({
        ...limits,
        all: 3,
        reserved: 0,
      });
      if (user === undefined) openMany(3, "a");
      else log(3, user);
      const request = connections.of("a0").began();
      if (user !== undefined) request.accepted(user);
      request.answered();
      open("new", "b");
      expect(closed).toEqual([expected]);
    }
  });
});

describe("a connection", () => {
  it("counts for the last of its users, as the newest", () => {
    const { connections, log, open, closed } = opening({ ...limits, reserved: 12 });
    log(4, "alice");
    log(4, "bob");
    connections.of("alice0").accepted("bob");
    connections.of("bob0").accepted("bob");
    for (let index = 0; index < 6; index += 1) open(`new${index}`, `${index}`);
    expect(closed).toEqual(["bob0", "bob1"]);
  });

  it("that ends makes room, once", () => {
    const { connections, openMany, endOf, closed } = opening();
    openMany(40, "a");
    for (let index = 0; index < 40; index += 1) endOf(`a${index}`)();
    expect([closed.length, connections.load()]).toEqual([34, { unauthenticated: 0, all: 0 }]);
  });

  it("that is over is not found under the id of the next one", () => {
    const { connections, open, endOf } = opening();
    open("a", "a");
    const endFirst = endOf("a");
    open("a", "b");
    endFirst();
    connections.of("a").accepted("bob");
    expect(connections.load()).toEqual({ unauthenticated: 0, all: 1 });
  });

  it("that was closed for the sake of another one counts no longer, whatever happens on it", () => {
    const { connections, openMany, closed, endOf } = opening();
    openMany(7, "a");
    const connection = connections.of("a0");
    connection.accepted("alice");
    endOf("a0")();
    connection.began().accepted("alice");
    connections.of("a0").began().accepted("alice");
    expect([closed, connections.load()]).toEqual([["a0"], { unauthenticated: 6, all: 6 }]);
  });
});

describe("a client with an accepted credential", () => {
  const attackers = fc.array(
    fc.record({
      address: fc.constantFrom("lb", "b", "c", "d"),
      /** Whether it has the credential of another user. */
      user: fc.option(fc.constantFrom("mallory", "trudy"), { nil: undefined }),
      isBusy: fc.boolean(),
    }),
    { maxLength: 200 },
  );

  it("keeps its connections, and gets new ones, whatever others open", () => {
    fc.assert(
      fc.property(attackers, fc.nat({ max: 200 }), (opened, at) => {
        const { connections, open, log, closed } = opening();
        log(2, "alice");
        opened.forEach(({ address, user, isBusy }, index) => {
          if (index === at) log(1, "again", "lb");
          open(`attacker${index}`, address);
          const connection = connections.of(`attacker${index}`);
          if (isBusy) connection.began();
          if (user !== undefined) connection.accepted(user);
        });
        expect(closed.filter((id) => !id.startsWith("attacker"))).toEqual([]);
      }),
    );
  });

  it("can present it at an address of its own, whatever others open meanwhile at theirs", () => {
    fc.assert(
      fc.property(attackers, attackers, (before, meanwhile) => {
        const { connections, open, closed } = opening();
        const attack = (all: typeof before, name: string): void =>
          all.forEach(({ user }, index) => {
            open(`${name}${index}`, "theirs");
            if (user !== undefined) connections.of(`${name}${index}`).accepted(user);
          });
        attack(before, "before");
        open("honest", "own");
        attack(meanwhile, "meanwhile");
        expect(closed).not.toContain("honest");
      }),
    );
  });
});

it("in any order of events, the limits hold, and only the owner that has the most loses a connection", () => {
  const step = fc.record({
    do: fc.constantFrom("open", "open", "accept", "begin", "begin", "finish", "end"),
    number: fc.nat({ max: 40 }),
    owner: fc.constantFrom("a", "b", "c"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: "max" }), (steps) => {
      const model = new Model();
      for (const { do: what, number, owner } of steps) {
        model[what](String(number), owner);
        expect(model.broken()).toEqual([]);
      }
    }),
  );
});

interface Modelled {
  owner: string;
  isAccepted: boolean;
  readonly requests: { closed(): void }[];
  readonly ended: () => void;
}

/** ConnectionPool as a test expects them. */
class Model {
  readonly #open = new Map<string, Modelled>();
  readonly #broken: string[] = [];
  #refused = 0;
  #lost = 0;
  readonly #connections = new ConnectionPool(limits, () => (this.#refused += 1));

  open(id: string, owner: string): void {
    if (this.#open.has(id)) return;
    const destroy = (): void => this.#destroy(id);
    const ended = this.#connections.opened(id, owner, { destroy });
    this.#open.set(id, { owner, isAccepted: false, requests: [], ended });
  }

  accept(id: string, owner: string): void {
    const one = this.#open.get(id);
    if (one === undefined) return;
    this.#connections.of(id).accepted(owner);
    [one.owner, one.isAccepted] = [owner, true];
  }

  begin(id: string): void {
    this.#open.get(id)?.requests.push(this.#connections.of(id).began());
  }

  finish(id: string): void {
    this.#open.get(id)?.requests.pop()?.closed();
  }

  end(id: string): void {
    this.#open.get(id)?.ended();
    this.#open.delete(id);
  }

  /** Which of the rules do not hold now. */
  broken(): readonly string[] {
    const all = [...this.#open.values()];
    const unauthenticated = all.filter(({ isAccepted }) => !isAccepted).length;
    const load = this.#connections.load();
    const isWithin = unauthenticated <= limits.unauthenticated && all.length <= limits.all;
    return [
      ...this.#broken,
      ...(load.unauthenticated === unauthenticated && load.all === all.length ? [] : ["load"]),
      ...(isWithin ? [] : ["limits"]),
      ...(this.#lost === this.#refused ? [] : ["count of closed connections"]),
    ];
  }

  /** Called for a connection that is there already, so never for the new one. */
  #destroy(id: string): void {
    this.#lost += 1;
    const lost = this.#open.get(id);
    if (lost === undefined) return void this.#broken.push("the new connection was closed");
    const group = [...this.#open.values()].filter((one) => one.isAccepted === lost.isAccepted);
    const ownedBy = (name: string): readonly Modelled[] =>
      group.filter(({ owner }) => owner === name);
    const own = ownedBy(lost.owner);
    const isIdle = ({ requests }: Modelled): boolean => requests.length === 0;
    // The new connection is not in the model yet.
    if (group.some(({ owner }) => ownedBy(owner).length > own.length + 1))
      this.#broken.push("another owner has more");
    if (!isIdle(lost) && own.some(isIdle)) this.#broken.push("another one is idle");
    this.end(id);
  }
}
