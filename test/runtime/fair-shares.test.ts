import fc from "fast-check";
import { expect, it } from "vitest";
import { FairShares, type Share, type ShareLimits } from "../../src/runtime/fair-shares.ts";
import { TestClock } from "../support/test-clock.ts";

function sharing(limits: Partial<ShareLimits>) {
  const shares = new FairShares({ all: 4, ...limits });
  const started: string[] = [];
  /** Asks for a unit; the text is the user, a slash and the key. */
  const ask = (text: string, units = 1): Share => {
    const [user = "", key = ""] = text.split("/");
    const share = shares.ask({ user, key }, units);
    share.enter(() => void started.push(text));
    return share;
  };
  return { shares, started, ask };
}

const settled = (): Promise<void> => Promise.resolve();

it("work starts at once while there is room, and waits in order", async () => {
  const { shares, started, ask } = sharing({ all: 4 });
  const [first, second] = [ask("a/1"), ask("a/2"), ask("a/3"), ask("a/4")];
  expect([started, shares.waiting, shares.used]).toEqual([["a/1", "a/2"], 2, 2]);
  first?.end();
  second?.end();
  await settled();
  expect([started, shares.waiting, shares.used]).toEqual([["a/1", "a/2", "a/3", "a/4"], 0, 2]);
});

it("work gives up after a time of waiting, and leaves no timer once it starts or ends", async () => {
  const { shares, started, ask } = sharing({ all: 1 });
  const clock = new TestClock();
  const late: string[] = [];
  const first = ask("a/1");
  const waiting = ["b/1", "c/1", "d/1"].map((text) => {
    const share = ask(text);
    share.giveUpAfter(1_000, clock, () => void late.push(text));
    return share;
  });
  first.giveUpAfter(1_000, clock, () => void late.push("a/1"));
  await clock.run(999);
  first.end();
  waiting[1]?.end();
  await settled();
  expect([started, late, clock.pending]).toEqual([["a/1", "b/1"], [], 1]);
  await clock.run(1);
  expect([late, clock.pending, shares.waiting]).toEqual([["d/1"], 0, 0]);
});

it("users take turns, and so do the keys of a user", async () => {
  const { started, ask } = sharing({ all: 1 });
  const asked = ["a/1", "a/1", "a/1", "a/1", "a/2", "b/1", "b/1", "c/1"].map((text) => ask(text));
  const open = new Set(asked);
  while (open.size > 0) {
    const running = asked.find((share) => open.has(share) && !share.isWaiting);
    if (running === undefined) break;
    open.delete(running);
    running.end();
    await settled();
  }
  expect(started).toEqual(["a/1", "a/1", "b/1", "c/1", "a/2", "b/1", "a/1", "a/1"]);
});

it("each user gets at most as much as is left, so that there is room for the next", async () => {
  const { started, shares, ask } = sharing({ all: 128 });
  const countOf = (user: string): number =>
    started.filter((text) => text.startsWith(`${user}/`)).length;
  const users = ["a", "b", "c", "d", "e", "f", "g"];
  for (const user of users) for (let at = 0; at < 128; at += 1) ask(`${user}/${at}`);
  await settled();
  expect(users.map(countOf)).toEqual([64, 32, 16, 8, 4, 2, 1]);
  ask("honest/1");
  await settled();
  expect([countOf("honest"), shares.used]).toEqual([1, 128]);
});

it("users who come together get equal shares as work ends", async () => {
  const { started, ask } = sharing({ all: 12 });
  const open: Share[] = [];
  for (let at = 0; at < 100; at += 1) for (const user of ["a", "b"]) open.push(ask(`${user}/1`));
  for (let turn = 0; turn < 60; turn += 1) {
    open
      .splice(
        open.findIndex((share) => !share.isWaiting),
        1,
      )[0]
      ?.end();
    await settled();
  }
  const last = started.slice(-20);
  expect(last.filter((text) => text === "a/1")).toHaveLength(10);
});

it.each([
  ["user", { user: 2 }, 2],
  ["key", { key: 1 }, 2],
])("no %s has more than its limit", async (_name, limits, most) => {
  const { started, ask } = sharing({ all: 10, ...limits });
  for (const text of ["a/1", "a/1", "a/2", "a/2", "a/1"]) ask(text);
  await settled();
  expect(started).toHaveLength(most);
  ask("b/1");
  await settled();
  expect(started.at(-1)).toBe("b/1");
});

it("what is free is kept for large work whose turn it is", async () => {
  const { started, ask } = sharing({ all: 10 });
  const [first, second] = [ask("a/1", 5), ask("b/1", 5)];
  ask("c/1", 9);
  ask("d/1", 1);
  first.end();
  await settled();
  expect(started).toEqual(["a/1", "b/1"]);
  second.end();
  await settled();
  expect(started).toEqual(["a/1", "b/1", "c/1", "d/1"]);
});

it("work that is given up never starts, also between its turn and its start", async () => {
  const { shares, started, ask } = sharing({ all: 1 });
  const first = ask("a/1");
  const [given, chosen] = [ask("a/1"), ask("a/1")];
  given.end();
  first.end();
  chosen.end();
  await settled();
  expect([started, shares.used, shares.waiting]).toEqual([["a/1"], 0, 0]);
  const late = shares.ask({ user: "a", key: "1" }, 1);
  late.end();
  late.enter(() => void started.push("late"));
  expect([started, shares.used]).toEqual([["a/1"], 0]);
});

it("work that ends twice gives its units back once", () => {
  const { shares, ask } = sharing({ all: 2 });
  const first = ask("a/1");
  ask("b/1");
  first.end();
  first.end();
  expect(shares.used).toBe(1);
});

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(2), fc.integer({ min: 1, max: 3 })),
  },
  { weight: 2, arbitrary: fc.nat(50) },
);

it("uses at most what there is, leaves nothing free for work that may start, and forgets all", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const limits = { all: 6, user: 5, key: 4 };
      const shares = new FairShares(limits);
      const open: { share: Share; user: string; units: number }[] = [];
      const running = new Set<Share>();
      for (const next of steps) {
        if (typeof next === "number") {
          const [ended] = open.splice(next % Math.max(1, open.length), 1);
          ended?.share.end();
          if (ended !== undefined) running.delete(ended.share);
        } else {
          const [user, key, units] = next;
          const share = shares.ask({ user, key: `${key}` }, units);
          open.push({ share, user, units });
          share.enter(() => running.add(share));
        }
        await settled();
        const used = open.filter(({ share }) => running.has(share));
        const sum = used.reduce((total, { units }) => total + units, 0);
        expect(sum).toBe(shares.used);
        expect(sum).toBeLessThanOrEqual(limits.all);
        expect(shares.waiting).toBe(open.filter(({ share }) => share.isWaiting).length);
        // A user with nothing in use waits only while there is no room for the one whose turn it is.
        const idle = open.filter(({ user }) => !used.some((other) => other.user === user));
        expect(idle.length === 0 || shares.used > limits.all - 3).toBe(true);
      }
      for (const { share } of open) share.end();
      expect([shares.used, shares.waiting]).toEqual([0, 0]);
    }),
  );
});

it("between the arrival of a user and its start, each other user starts at most one piece", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("f1", "f2", "f3"), { minLength: 5, maxLength: 60 }),
      async (floods) => {
        const { shares, started, ask } = sharing({ all: 3 });
        const open = floods.map((user, at) => ({ share: ask(`${user}/${at}`), at }));
        const before = started.length;
        ask("honest/1");
        while (!started.includes("honest/1")) {
          const running = open.findIndex(({ share }) => !share.isWaiting);
          if (running < 0) break;
          open.splice(running, 1)[0]?.share.end();
          await settled();
        }
        const since = started.slice(before).filter((text) => text !== "honest/1");
        const users = since.map((text) => text.split("/")[0]);
        expect(new Set(users).size).toBe(users.length);
        expect([started.includes("honest/1"), shares.used <= 3]).toEqual([true, true]);
      },
    ),
  );
});
