import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { KeyDecision } from "../../src/authn/authorize-request.ts";
import type { InFlightKind } from "../../src/domain/gateway/in-flight-limits.ts";
import { InFlightRequests } from "../../src/gateway/in-flight-requests.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { TestClock } from "../support/test-clock.ts";

interface Followed {
  readonly cuts: KeyDecision[];
  decisions: number;
  ends: number;
  decision: KeyDecision;
  endsAt: number;
  readonly remove: () => void;
}

const denied: KeyDecision = { kind: "denied", reason: "r" };

function following() {
  const clock = new TestClock();
  const counted: string[] = [];
  const state = { isFresh: true };
  const inFlight = new InFlightRequests({
    clock,
    yielder: new Yielder(clock),
    isFresh: () => state.isFresh,
    onCut: (kind) => void counted.push(kind),
  });
  const add = (
    {
      kind = "stream",
      key = "k",
      user = "u",
    }: { kind?: InFlightKind; key?: string; user?: string } = {},
    endsAt = Infinity,
  ): Followed => {
    const followed: Followed = {
      cuts: [],
      decisions: 0,
      ends: 0,
      decision: { kind: "no-opinion" },
      endsAt,
      remove: () => remove(),
    };
    const remove = inFlight.add({
      kind,
      sharer: { user, key },
      decide() {
        followed.decisions += 1;
        return followed.decision;
      },
      endsAt: () => followed.endsAt,
      end: () => void (followed.ends += 1),
      giveWay() {
        if (kind === "answer") return false;
        followed.ends += 1;
        remove();
        return true;
      },
      cut(decision) {
        followed.cuts.push(decision);
        remove();
      },
    });
    return followed;
  };
  return { clock, counted, state, inFlight, add };
}

describe("requests under way", () => {
  it("are counted by kind, user and key, and no more when they are over", () => {
    const { inFlight, add } = following();
    const all = [
      add({ kind: "answer" }),
      add({ kind: "stream" }),
      add({ kind: "upgrade", key: "k2" }),
      add({ kind: "stream", key: "k3", user: "u3" }),
    ];
    expect(inFlight.counts()).toEqual({ answer: 1, stream: 2, upgrade: 1 });
    const of = { user: "u", key: "k" };
    expect(inFlight.loadOf("answers", of)).toEqual({ all: 1, user: 1, key: 1, mostOfUser: 1 });
    expect(inFlight.loadOf("streams", of)).toEqual({ all: 3, user: 2, key: 1, mostOfUser: 2 });
    for (const { remove } of all) {
      remove();
      remove();
    }
    expect(inFlight.counts()).toEqual({ answer: 0, stream: 0, upgrade: 0 });
    for (const group of ["answers", "streams"] as const)
      expect(inFlight.loadOf(group, of)).toEqual({ all: 0, user: 0, key: 0, mostOfUser: 0 });
  });

  it("are displaced, the newest of the user with the most first, if one can end", () => {
    const { counted, inFlight, add } = following();
    const others = [add(), add(), add({ user: "u2", key: "k2" })];
    const newest = add();
    expect(inFlight.displace("streams")).toBe(true);
    expect([newest.ends, others.map(({ ends }) => ends), counted]).toEqual([
      ...[1, [0, 0, 0], ["displaced"]],
    ]);
    add({ kind: "answer" });
    expect([inFlight.displace("answers"), counted]).toEqual([false, ["displaced"]]);
  });

  it("are all decided again after a change, at once", async () => {
    const { clock, counted, inFlight, add } = following();
    const [kept, cut] = [add(), add()];
    cut.decision = denied;
    await clock.run(1_000);
    inFlight.changed();
    await clock.run(0);
    expect([kept.decisions, cut.decisions, kept.cuts, cut.cuts, counted]).toEqual([
      ...[1, 1, [], [denied], ["denied"]],
    ]);
  });

  it("are decided at most four times a second, and never later than 250 ms after a change", async () => {
    const { clock, inFlight, add } = following();
    const request = add();
    for (let at = 0; at < 990; at += 10) {
      inFlight.changed();
      await clock.run(10);
    }
    expect(request.decisions).toBe(4);
    request.decision = denied;
    inFlight.changed();
    await clock.run(250);
    expect(request.cuts).toHaveLength(1);
  });

  it("are decided at the end of a key's validity", async () => {
    const { clock, add } = following();
    const request = add({}, clock.now() + 60_000);
    await clock.run(59_999);
    expect(request.decisions).toBe(0);
    request.decision = denied;
    await clock.run(1);
    expect(request.cuts).toHaveLength(1);
  });

  it("are decided at a later end of validity when the key got one", async () => {
    const { clock, add } = following();
    const request = add({}, clock.now() + 60_000);
    request.endsAt = clock.now() + 120_000;
    await clock.run(60_000);
    expect([request.decisions, request.cuts]).toEqual([1, []]);
    request.decision = denied;
    await clock.run(60_000);
    expect(request.cuts).toHaveLength(1);
  });

  it("are decided every 250 ms at most, although an end of validity lies behind", async () => {
    const { clock, add } = following();
    const request = add({}, clock.now() - 1);
    await clock.run(1_000);
    expect(request.decisions).toBeLessThanOrEqual(5);
  });

  it("are cut when what decides is not current any more", async () => {
    const { clock, state, inFlight, add } = following();
    const stop = new AbortController();
    inFlight.watchFreshness(stop.signal);
    const request = add();
    await clock.run(5_000);
    expect(request.decisions).toBe(0);
    state.isFresh = false;
    request.decision = { kind: "not-ready", reason: "stale" };
    await clock.run(1_000);
    expect(request.cuts).toEqual([{ kind: "not-ready", reason: "stale" }]);
    stop.abort();
    await clock.run(1_000);
    expect(clock.pending).toBe(0);
  });

  describe("that take longer than a turn to decide about", () => {
    const slow = () => {
      const fixture = following();
      const order: string[] = [];
      const addSlow = (name: string, onDecide = (): void => {}) =>
        fixture.inFlight.add({
          kind: "stream",
          sharer: { user: "u", key: "k" },
          decide() {
            order.push(name);
            onDecide();
            fixture.clock.advance(20);
            return { kind: "no-opinion" };
          },
          endsAt: () => Infinity,
          end() {},
          giveWay: () => false,
          cut() {},
        });
      const turns = async (count: number): Promise<void> => {
        for (let turn = 0; turn < count; turn += 1) await setImmediate();
      };
      return { ...fixture, order, addSlow, turns };
    };

    it("are decided in several turns of the event loop", async () => {
      const { clock, inFlight, order, addSlow, turns } = slow();
      for (const name of ["a", "b", "c"]) addSlow(name);
      inFlight.changed();
      clock.advance(0);
      const atOnce = order.length;
      await turns(5);
      expect([atOnce < 3, order]).toEqual([true, ["a", "b", "c"]]);
    });

    it("are decided again after a change that came meanwhile", async () => {
      const { clock, inFlight, order, addSlow, turns } = slow();
      let isFirst = true;
      addSlow("a", () => {
        if (isFirst) inFlight.changed();
        if (isFirst) clock.advance(300);
        isFirst = false;
      });
      addSlow("b");
      inFlight.changed();
      clock.advance(0);
      await turns(5);
      clock.advance(250);
      await turns(5);
      expect(order).toEqual(["a", "b", "a", "b"]);
      expect(clock.pending).toBe(0);
    });

    it("are left out if they end meanwhile", async () => {
      const { clock, inFlight, order, addSlow, turns } = slow();
      addSlow("a", () => remove());
      const remove = addSlow("b");
      addSlow("c");
      inFlight.changed();
      clock.advance(0);
      await turns(5);
      expect(order).toEqual(["a", "c"]);
    });
  });

  it("are not decided if there are none", async () => {
    const { clock, inFlight } = following();
    inFlight.changed();
    expect(clock.pending).toBe(0);
  });

  it("end one after the other when the gateway stops, streams alone", async () => {
    const { clock, inFlight, add } = following();
    const [answer, upgrade] = [add({ kind: "answer" }), add({ kind: "upgrade" })];
    const streams = Array.from({ length: 10 }, () => add());
    const ended = inFlight.endStreams(10_000);
    await clock.run(5_000);
    expect(streams.filter(({ ends }) => ends === 1)).toHaveLength(5);
    await clock.run(5_000);
    await ended;
    expect(streams.filter(({ ends }) => ends === 1)).toHaveLength(10);
    expect([answer.ends, upgrade.ends]).toEqual([0, 0]);
  });
});
