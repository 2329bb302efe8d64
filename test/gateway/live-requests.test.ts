import { describe, expect, it } from "vitest";
import type { KeyDecision } from "../../src/authn/authorize-key.ts";
import { type LiveKind, LiveRequests } from "../../src/gateway/live-requests.ts";
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
  const live = new LiveRequests({
    clock,
    isFresh: () => state.isFresh,
    onCut: (kind) => void counted.push(kind),
  });
  const add = (
    {
      kind = "stream",
      keyId = "k",
      username = "u",
    }: { kind?: LiveKind; keyId?: string; username?: string } = {},
    endsAt = Infinity,
  ): Followed => {
    const followed: Followed = {
      ...{ cuts: [], decisions: 0, ends: 0, decision: { kind: "no-opinion" }, endsAt },
      remove: () => remove(),
    };
    const remove = live.add({
      ...{ kind, keyId, username },
      decide() {
        followed.decisions += 1;
        return followed.decision;
      },
      endsAt: () => followed.endsAt,
      end: () => void (followed.ends += 1),
      cut(decision) {
        followed.cuts.push(decision);
        remove();
      },
    });
    return followed;
  };
  return { clock, counted, state, live, add };
}

describe("requests under way", () => {
  it("are counted by kind, user and key, and no more when they are over", () => {
    const { live, add } = following();
    const all = [
      add({ kind: "answer" }),
      add({ kind: "stream" }),
      add({ kind: "upgrade", keyId: "k2" }),
      add({ kind: "stream", keyId: "k3", username: "u3" }),
    ];
    expect(live.counts()).toEqual({ answer: 1, stream: 2, upgrade: 1 });
    expect(live.lasting({ username: "u", keyId: "k" })).toEqual({ all: 3, user: 2, key: 1 });
    for (const { remove } of all) {
      remove();
      remove();
    }
    expect(live.counts()).toEqual({ answer: 0, stream: 0, upgrade: 0 });
    expect(live.lasting({ username: "u", keyId: "k" })).toEqual({ all: 0, user: 0, key: 0 });
  });

  it("are all decided again after a change, at once", async () => {
    const { clock, counted, live, add } = following();
    const [kept, cut] = [add(), add()];
    cut.decision = denied;
    await clock.run(1_000);
    live.changed();
    await clock.run(0);
    expect([kept.decisions, cut.decisions, kept.cuts, cut.cuts, counted]).toEqual([
      ...[1, 1, [], [denied], ["denied"]],
    ]);
  });

  it("are decided at most four times a second, and never later than 250 ms after a change", async () => {
    const { clock, live, add } = following();
    const request = add();
    for (let at = 0; at < 990; at += 10) {
      live.changed();
      await clock.run(10);
    }
    expect(request.decisions).toBe(4);
    request.decision = denied;
    live.changed();
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
    const { clock, state, live, add } = following();
    const stop = new AbortController();
    live.watchFreshness(stop.signal);
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

  it("are not decided if there are none", async () => {
    const { clock, live } = following();
    live.changed();
    expect(clock.pending).toBe(0);
  });

  it("end one after the other when the gateway stops, streams alone", async () => {
    const { clock, live, add } = following();
    const [answer, upgrade] = [add({ kind: "answer" }), add({ kind: "upgrade" })];
    const streams = Array.from({ length: 10 }, () => add());
    const ended = live.endStreams(10_000);
    await clock.run(5_000);
    expect(streams.filter(({ ends }) => ends === 1)).toHaveLength(5);
    await clock.run(5_000);
    await ended;
    expect(streams.filter(({ ends }) => ends === 1)).toHaveLength(10);
    expect([answer.ends, upgrade.ends]).toEqual([0, 0]);
  });
});
