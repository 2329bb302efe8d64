import fc from "fast-check";
import { expect, test } from "vitest";
import { Connections } from "../../src/runtime/connections.ts";

const limits = { pending: 6, pendingPerAddress: 3, strangers: 8, strangersPerAddress: 4 };

function setup() {
  const ended: string[] = [];
  let refused = 0;
  const connections = new Connections(limits, () => (refused += 1));
  const open = (id: string, address = "a"): void =>
    connections.opened(id, address, { destroy: () => void ended.push(id) });
  const anonymous = (id: string, address?: string): void => {
    open(id, address);
    connections.established(id, false);
  };
  return { connections, open, anonymous, ended, refused: () => refused };
}

const numbered = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

test("closes the oldest unfinished handshake of an address for a new connection", () => {
  const { open, ended, connections, refused } = setup();
  for (const id of numbered("p", 5)) open(id);
  open("other", "b");
  expect([ended, refused(), connections.load()]).toEqual([
    ["p0", "p1"],
    2,
    { pending: 4, strangers: 0, all: 6 },
  ]);
});

test("closes the oldest unfinished handshake of all addresses for a new connection", () => {
  const { open, ended } = setup();
  for (const id of numbered("p", 8)) open(id, id);
  expect(ended).toEqual(["p0", "p1"]);
});

test("does not count or close a connection with a client certificate", () => {
  const { connections, open, anonymous, ended } = setup();
  for (const id of numbered("known", 20)) {
    open(id);
    connections.established(id, true);
  }
  for (const id of numbered("s", 20)) anonymous(id);
  expect([ended.filter((id) => id.startsWith("known")), connections.load()]).toEqual([
    [],
    { pending: 0, strangers: 4, all: 40 },
  ]);
});

test("keeps an anonymous connection that waits for a response, and closes the next one instead", () => {
  const { connections, anonymous, ended } = setup();
  anonymous("busy");
  connections.began("busy");
  for (const id of numbered("s", 5)) anonymous(id);
  expect(ended).toEqual(["s0", "s1"]);
  connections.answered("busy");
  anonymous("last");
  expect(ended.at(-1)).toBe("busy");
});

test("closes the new connection if all others wait for a response", () => {
  const { connections, anonymous, ended } = setup();
  for (const id of numbered("busy", 4)) {
    anonymous(id);
    connections.began(id);
  }
  anonymous("new");
  anonymous("elsewhere", "b");
  expect(ended).toEqual(["new"]);
});

test("a closed connection frees its slot", () => {
  const { connections, anonymous, ended } = setup();
  for (const id of numbered("s", 40)) {
    anonymous(id);
    connections.closed(id);
  }
  expect([ended, connections.load()]).toEqual([[], { pending: 0, strangers: 0, all: 0 }]);
});

test("in any order of events, anonymous connections and handshakes stay within their limits, and no connection with a certificate is closed", () => {
  const step = fc.record({
    do: fc.constantFrom("open", "known", "anonymous", "began", "answered", "closed"),
    id: fc.nat({ max: 30 }),
    address: fc.constantFrom("a", "b", "c"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const [open, known, busy] = [
        new Map<string, number>(),
        new Set<string>(),
        new Map<string, number>(),
      ];
      const connections = new Connections(limits, () => {});
      const gone = (id: string): void => {
        expect(known.has(id)).toBe(false);
        open.delete(id);
        connections.closed(id);
      };
      for (const { do: what, id: number, address } of steps) {
        const id = String(number);
        const isOpen = open.has(id);
        if (what === "open" && !isOpen) {
          open.set(id, 1);
          connections.opened(id, address, { destroy: () => gone(id) });
        } else if (what === "known" && isOpen) {
          if (open.get(id) === 1) known.add(id);
          open.set(id, 2);
          connections.established(id, true);
        } else if (what === "anonymous" && isOpen) {
          open.set(id, 2);
          connections.established(id, false);
        } else if (what === "began" && isOpen) {
          busy.set(id, (busy.get(id) ?? 0) + 1);
          connections.began(id);
        } else if (what === "answered" && (busy.get(id) ?? 0) > 0) {
          busy.set(id, (busy.get(id) ?? 0) - 1);
          connections.answered(id);
        } else if (what === "closed" && isOpen) {
          known.delete(id);
          busy.delete(id);
          open.delete(id);
          connections.closed(id);
        }
        const { pending, strangers, all } = connections.load();
        expect(
          pending <= limits.pending && strangers <= limits.strangers && all === open.size,
        ).toBe(true);
      }
    }),
  );
});
