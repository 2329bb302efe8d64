import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import { outboxName } from "../../../src/domain/outbox/outbox-names.ts";
import type { ObservedOutboxSecret } from "../../../src/domain/outbox/outbox-secret.ts";
import {
  mostWithdrawals,
  type ObservedOutboxKey,
  outboxState,
} from "../../../src/domain/outbox/outbox-state.ts";
import { type OutboxState, outboxSteps } from "../../../src/domain/outbox/outbox-table.ts";
import type { Source } from "../../../src/domain/sync/copy.ts";
import {
  east,
  observedOf,
  offeredOf,
  offeredSecret,
  revisedAt,
  sharedWith,
  tombstoneFor,
} from "../../support/observed-outbox.ts";
import { runs } from "../../support/property-runs.ts";

const source = sharedWith();
const problem = { reason: "TooLarge", message: "why" } as const;
const invalid = sharedWith({ options: { problem } });
const silent = sharedWith({ options: { clusters: [] } });
const deleting = sharedWith({ metadata: { deletionTimestamp: "2026-01-02T00:00:00Z" } });
const again = sharedWith({ metadata: { uid: "uid-again" }, data: "much longer than before" });
const sources = { source, invalid, silent, deleting, again, none: undefined };

const offered = offeredSecret(offeredOf(source));
const outdated = offeredSecret(offeredOf(source, ["pay"]), { digest: "old" });
const tombstone = tombstoneFor(source);
const place = { namespace: "team", name: "db" };
const target = { namespace: "latchkey-cluster-east", name: outboxName(place) };
const unlabelled = { labels: { [labels.outboxUid]: "" } };
const nameless = { annotations: { ...offered.metadata.annotations, [annotations.source]: "x/y" } };
const secrets = {
  nothing: undefined,
  "the offer": offered,
  "an old offer": outdated,
  "a tombstone": tombstone,
  "a tombstone with data": tombstoneFor(source, { size: 3 }),
  "a tombstone of an old format": tombstoneFor(source, {
    marks: { annotations: { ...tombstone.metadata.annotations, [annotations.outboxFormat]: "0" } },
  }),
  "an offer with an empty label": offeredSecret(offeredOf(source), { marks: unlabelled }),
  "an offer without its label": offeredSecret(offeredOf(source), { marks: { labels: {} } }),
  "an offer of another name": offeredSecret(offeredOf(source), { marks: nameless }),
  "a tombstone of another name": tombstoneFor(source, {
    marks: { annotations: { ...tombstone.metadata.annotations, [annotations.source]: "x/y" } },
  }),
} satisfies Record<string, ObservedOutboxSecret | undefined>;

type Kind = OutboxState["kind"];
type Changes = Partial<ObservedOutboxKey>;

const usage = { bytes: 100, namespaceBytes: 0, maximumBytes: 1_000, withdrawals: 0 };

function stateOf(existing: keyof typeof secrets, of: keyof typeof sources, changes: Changes = {}) {
  return outboxState({
    target,
    isTerminating: false,
    cluster: east,
    usage,
    reported: { done: new Map() },
    existing: secrets[existing],
    source: sources[of],
    ...changes,
  });
}

const full = { usage: { ...usage, bytes: 1_001 } };
const done = { reported: { done: new Map([["uid-db", "7"]]) } };
const formerlyDone = { reported: { done: new Map([["uid-db", "6"]]) } };
const unknown = { reported: { done: new Map(), unknown: { source: place, uid: "uid-former" } } };
const crowded = { ...unknown, usage: { ...usage, withdrawals: mostWithdrawals } };
const notLetIn = { cluster: { ...east, projects: [] } };

describe("a Secret of an outbox", () => {
  test.for<[string, keyof typeof secrets, keyof typeof sources, Changes, Kind]>([
    ["is created for an offer", "nothing", "source", {}, "missing"],
    ["is current", "the offer", "source", {}, "current"],
    ["is replaced", "an old offer", "source", {}, "differs"],
    ["is replaced by the source that has its name now", "the offer", "again", {}, "differs"],
    ["of a source is offered again", "a tombstone", "source", {}, "differs"],
    ["of a source is offered again, also if it is done", "a tombstone", "source", done, "differs"],
    ["is not wanted without a source", "nothing", "none", {}, "not-wanted"],
    ["is not wanted of a source that names no cluster", "nothing", "silent", {}, "not-wanted"],
    ["stays while its source is invalid", "the offer", "invalid", {}, "source-invalid"],
    ["is not created while its source is invalid", "nothing", "invalid", unknown, "not-wanted"],
    ["is withdrawn from a cluster that is not named", "the offer", "silent", {}, "withdrawn"],
    [
      "is withdrawn from a cluster that lets it in no more",
      "the offer",
      "source",
      notLetIn,
      "withdrawn",
    ],
    [
      "is withdrawn of an invalid source that is not let in",
      "the offer",
      "invalid",
      notLetIn,
      "withdrawn",
    ],
    ["is withdrawn while its source is being deleted", "the offer", "deleting", {}, "withdrawn"],
    ["is orphaned without its source", "the offer", "none", {}, "orphaned"],
    ["of an old source is orphaned", "an old offer", "none", {}, "orphaned"],
    ["that withdraws waits for the cluster", "a tombstone", "none", {}, "waiting"],
    [
      "that withdraws waits for another report than the last one",
      "a tombstone",
      "none",
      formerlyDone,
      "waiting",
    ],
    ["that withdraws waits while the source is invalid", "a tombstone", "invalid", {}, "waiting"],
    ["that withdraws is done", "a tombstone", "none", done, "done"],
    [
      "that withdraws is done, also of a source that is there",
      "a tombstone",
      "silent",
      done,
      "done",
    ],
    ["that withdraws and has data is repaired", "a tombstone with data", "none", done, "withdrawn"],
    [
      "that withdraws in another format is repaired",
      "a tombstone of an old format",
      "none",
      done,
      "withdrawn",
    ],
    ["without its label is repaired", "an offer with an empty label", "source", {}, "differs"],
    ["without its label is withdrawn", "an offer with an empty label", "silent", {}, "withdrawn"],
    [
      "without its label and its source says nothing",
      "an offer with an empty label",
      "none",
      {},
      "unreadable",
    ],
    ["that names another source is repaired", "an offer of another name", "source", {}, "differs"],
    [
      "that names another source is withdrawn",
      "an offer of another name",
      "silent",
      {},
      "withdrawn",
    ],
    [
      "that names another source says nothing",
      "an offer of another name",
      "none",
      {},
      "unreadable",
    ],
    [
      "that withdraws another source says nothing",
      "a tombstone of another name",
      "none",
      done,
      "unreadable",
    ],
    ["of a former cluster goes", "the offer", "source", { cluster: undefined }, "disconnected"],
    [
      "that withdraws from a former cluster goes",
      "a tombstone",
      "none",
      { cluster: undefined },
      "disconnected",
    ],
    ["is not made for a former cluster", "nothing", "source", { cluster: undefined }, "not-wanted"],
    [
      "is not made in a terminating namespace",
      "nothing",
      "source",
      { isTerminating: true },
      "not-wanted",
    ],
    [
      "is left in a terminating namespace",
      "the offer",
      "none",
      { isTerminating: true },
      "not-wanted",
    ],
  ])("%s", ([, existing, of, changes, kind]) => {
    expect(stateOf(existing, of, changes).kind).toBe(kind);
  });
});

test("a Secret without the label says nothing in a full outbox", () => {
  expect(stateOf("an offer without its label", "again", full).kind).toBe("unreadable");
  expect(stateOf("an offer without its label", "none").kind).toBe("unreadable");
});

describe("a full outbox", () => {
  const exact = { usage: { ...usage, bytes: 1_000 - source.size } };
  const tight = { usage: { ...usage, bytes: 1_000 - source.size + 1 } };
  const large = { usage: { ...usage, bytes: 1_000 } };
  test.for<[string, keyof typeof secrets, keyof typeof sources, Changes, Kind]>([
    ["takes what just fits", "nothing", "source", exact, "missing"],
    ["takes nothing more", "nothing", "source", tight, "full"],
    ["says what is withdrawn", "the offer", "silent", full, "withdrawn"],
    ["says which sources are orphaned", "the offer", "none", full, "orphaned"],
    ["replaces what does not become larger", "an old offer", "source", full, "differs"],
    ["does not offer again what it withdrew", "a tombstone", "source", full, "full"],
    [
      "stops to withdraw what it has no room for",
      "a tombstone",
      "source",
      { ...full, ...done },
      "done",
    ],
    [
      "keeps no data that says nothing",
      "an offer with an empty label",
      "again",
      full,
      "unreadable",
    ],
    ["repairs a tombstone", "a tombstone with data", "source", full, "withdrawn"],
    ["withdraws the data of a former source", "the offer", "again", large, "withdrawn"],
  ])("%s", ([, existing, of, changes, kind]) => {
    expect(stateOf(existing, of, changes).kind).toBe(kind);
  });

  test("withdraws from the cluster what the former source had there", () => {
    expect(stateOf("the offer", "again", large)).toMatchObject({
      withdrawn: { cluster: "east", source: place, uid: "uid-db" },
    });
  });
});

describe("the last quarter of an outbox", () => {
  const room = 750 - source.size;
  const holding = (namespaceBytes: number, bytes = room + 1): Changes => ({
    usage: { ...usage, bytes, namespaceBytes },
  });
  test.for<[string, keyof typeof secrets, keyof typeof sources, Changes, Kind]>([
    ["is for a namespace that holds little", "nothing", "source", holding(62), "missing"],
    ["is not for one that holds a sixteenth", "nothing", "source", holding(63), "share-full"],
    ["begins behind three quarters", "nothing", "source", holding(700, room), "missing"],
    ["ends with the outbox", "nothing", "source", holding(0, 1_000), "full"],
    ["takes what does not grow", "an old offer", "source", holding(700, 900), "differs"],
    ["takes back nothing that is offered", "the offer", "source", holding(700, 900), "current"],
    ["is asked for what was withdrawn", "a tombstone", "source", holding(700), "share-full"],
    ["withdraws what may not stay", "the offer", "again", holding(700, 990), "withdrawn"],
  ])("%s", ([, existing, of, changes, kind]) => {
    expect(stateOf(existing, of, changes).kind).toBe(kind);
  });

  test("has room for 4 small namespaces when one has taken all it could", () => {
    const maximumBytes = 160;
    let [bytes, large] = [0, 0];
    const fits = (namespaceBytes: number): boolean => {
      const held = { bytes, namespaceBytes, maximumBytes, withdrawals: 0 };
      const of = { source: { ...source, size: 1 }, usage: held };
      return stateOf("nothing", "source", of).kind === "missing";
    };
    while (fits(large)) [bytes, large] = [bytes + 1, large + 1];
    expect(large).toBe(120);
    for (const _ of [1, 2, 3, 4]) {
      let small = 0;
      while (fits(small)) [bytes, small] = [bytes + 1, small + 1];
      expect(small).toBe(10);
    }
    expect(bytes).toBe(maximumBytes);
  });
});

describe("a source that a cluster does not know", () => {
  test.for<[string, keyof typeof sources, Changes, Kind]>([
    ["is withdrawn if it does not exist", "none", unknown, "unknown"],
    ["is withdrawn if it names no cluster", "silent", unknown, "unknown"],
    ["is withdrawn if it is being deleted", "deleting", unknown, "unknown"],
    ["is offered if it names the cluster", "source", unknown, "missing"],
    ["stays if it is invalid", "invalid", unknown, "not-wanted"],
    ["waits until other tombstones are done", "none", crowded, "deferred"],
    ["is offered, however many tombstones there are", "source", crowded, "missing"],
    ["is nothing to a former cluster", "none", { ...unknown, cluster: undefined }, "not-wanted"],
  ])("%s", ([, of, changes, kind]) => {
    expect(stateOf("nothing", of, changes).kind).toBe(kind);
  });

  test("is withdrawn by the uid that the cluster reports", () => {
    const withdrawn = { cluster: "east", source: place, uid: "uid-former" };
    expect(stateOf("nothing", "none", unknown)).toEqual({ kind: "unknown", withdrawn });
    expect(stateOf("nothing", "none", crowded)).toEqual({ kind: "deferred", withdrawn });
  });

  test("is a matter of the past once the outbox is about it", () => {
    expect(stateOf("a tombstone", "none", { ...unknown }).kind).toBe("waiting");
    expect(stateOf("the offer", "source", { ...unknown }).kind).toBe("current");
  });
});

/** What the API server has after the writes of a state; undefined without a Secret. */
function after(state: OutboxState, before: ObservedOutboxSecret | undefined, of?: Source) {
  const data = { password: new SecretText("x") };
  let secret = before;
  for (const write of outboxSteps(state, { revisedAt, data }).flat()) {
    if (write.do === "delete") secret = undefined;
    if (write.do !== "create" && write.do !== "replace") continue;
    const hasData = write.object.metadata.annotations?.[annotations.withdrawn] === undefined;
    const written = hasData && of ? { digest: of.ownDigest, size: of.size } : {};
    secret = observedOf(write.object, written);
  }
  return secret;
}

const situations = fc.record({
  existing: fc.constantFrom(...Object.values(secrets)),
  isImmutable: fc.boolean(),
  source: fc.constantFrom(...Object.values(sources)),
  isTerminating: fc.constantFrom(false, false, true),
  cluster: fc.constantFrom(east, east, notLetIn.cluster, undefined),
  usage: fc.constantFrom(usage, full.usage, crowded.usage, {
    ...usage,
    bytes: 900,
    namespaceBytes: 500,
  }),
  reported: fc.constantFrom(done.reported, formerlyDone.reported, unknown.reported),
});

test("after the writes nothing is left to write, unless a cluster has reported meanwhile", () => {
  fc.assert(
    fc.property(situations, ({ isImmutable, ...seen }) => {
      const existing = seen.existing && { ...seen.existing, immutable: isImmutable };
      const observed = { ...seen, existing, target };
      const written = after(outboxState(observed), existing, seen.source);
      const next = outboxState({ ...observed, existing: written, reported: { done: new Map() } });
      expect(after(next, written, seen.source)).toBe(written);
    }),
    runs(500),
  );
});

test("an outbox has data only of what is offered, or may still be", () => {
  fc.assert(
    fc.property(situations, ({ isImmutable, ...seen }) => {
      const existing = seen.existing && { ...seen.existing, immutable: isImmutable };
      const state = outboxState({ ...seen, existing, target });
      const written = after(state, existing, seen.source);
      if (written === undefined || written.size === 0) return;
      if (seen.isTerminating) return;
      expect(seen.cluster).toBeDefined();
      const isInvalid = seen.source?.options.problem !== undefined;
      const isOfSource =
        written.metadata.labels[labels.outboxUid] === seen.source?.secret.metadata.uid;
      expect(isInvalid || isOfSource).toBe(true);
    }),
    runs(500),
  );
});

test("a source that the API server may still have is never withdrawn without being asked for", () => {
  fc.assert(
    fc.property(situations, (seen) => {
      const { kind } = outboxState({ ...seen, target });
      const isTombstone = seen.existing?.metadata.annotations[annotations.withdrawn] !== undefined;
      const isCertain = seen.source !== undefined || isTombstone;
      expect(kind === "withdrawn" && !isCertain).toBe(false);
    }),
    runs(300),
  );
});
