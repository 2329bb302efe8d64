import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseMetadata, recordAt } from "../../../src/api/parse.ts";
import { readingBounds } from "../../../src/api/reading-bounds.ts";
import type { RevocationDecision } from "../../../src/domain/endpoint-token/revocation.ts";
import {
  entryText,
  isListed,
  keptAfterExpiryMs,
  parseEntry,
  planRevokedTokens,
  type RevokedTokensConfigMap,
  revokedTokensLimits,
} from "../../../src/domain/endpoint-token/revoked-tokens.ts";
import type { Plan, Write } from "../../../src/domain/plan/plan.ts";

const now = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const requester = "0123456789abcdef0123456789abcdef";
const namespace = "latchkey-system";
const entry = (inMs: number) => ({ expiresAt: now + inMs, requester });
const revoked = (inMs = hour): RevocationDecision => ({ kind: "revoked", ...entry(inMs) });
const valid: RevocationDecision = { kind: "valid" };

function list(number: number, entries: Readonly<Record<string, number>>, version = number + 1) {
  const name = `latchkey-revoked-${number}`;
  return {
    metadata: parseMetadata({
      metadata: {
        namespace,
        name,
        uid: `u${number}`,
        creationTimestamp: "2026-01-01T00:00:00Z",
        resourceVersion: `${version}`,
      },
    }),
    entries: new Map(Object.entries(entries).map(([jti, inMs]) => [jti, entry(inMs)])),
    invalid: [],
  } satisfies RevokedTokensConfigMap;
}

function planned(
  lists: readonly RevokedTokensConfigMap[],
  decisions: Readonly<Record<string, RevocationDecision>>,
  limits = { entries: 2, lists: 3 },
): Plan {
  const decided = { lists, decisions: new Map(Object.entries(decisions)), namespace };
  return planRevokedTokens(decided, now, limits);
}

const text = (inMs: number) => entryText(entry(inMs));

/** A write in one line. */
function line(write: Write): string {
  switch (write.do) {
    case "create":
      return `create ${write.object.metadata.name} ${JSON.stringify(write.object["data"])}`;
    case "patch":
      return `patch ${write.ref.name} ${JSON.stringify(write.body["data"])}`;
    case "delete":
      return `delete ${write.ref.name}`;
    case "replace":
    case "dry-run-create":
    case "record-event":
      return write.do;
  }
}

const lines = ({ steps }: Plan): readonly string[] => steps.flat().map(line);

describe("the plan of the revoked tokens", () => {
  test.for<
    [
      rule: string,
      lists: readonly RevokedTokensConfigMap[],
      decisions: Readonly<Record<string, RevocationDecision>>,
      writes: readonly string[],
    ]
  >([
    [
      "creates an empty list: without one, none is served",
      [],
      {},
      ["create latchkey-revoked-0 {}"],
    ],
    [
      "writes nothing if every revoked token is listed",
      [list(0, { a: hour, gone: hour })],
      { a: revoked() },
      [],
    ],
    [
      "adds all revoked tokens in one write",
      [list(0, {})],
      { a: revoked(), b: revoked(2 * hour) },
      [`patch latchkey-revoked-0 ${JSON.stringify({ a: text(hour), b: text(2 * hour) })}`],
    ],
    [
      "fills a list, then creates the next one that is free",
      [list(0, { x: hour }), list(2, { y: hour, z: hour })],
      { a: revoked(), b: revoked() },
      [
        `patch latchkey-revoked-0 ${JSON.stringify({ a: text(hour) })}`,
        `create latchkey-revoked-1 ${JSON.stringify({ b: text(hour) })}`,
      ],
    ],
    [
      "adds no more than fit into the signed list",
      [list(0, { a: hour, b: hour }), list(1, { c: hour, d: hour }), list(2, { e: hour, f: hour })],
      { g: revoked() },
      [],
    ],
    [
      "removes a token that is valid again, and keeps those without a decision",
      [list(0, { a: hour, gone: hour })],
      { a: valid },
      ['patch latchkey-revoked-0 {"a":null}'],
    ],
    ["never adds a valid token", [list(0, {})], { a: valid }, []],
    [
      "removes entries some time after the expiry",
      [list(0, { a: -keptAfterExpiryMs, b: 1 - keptAfterExpiryMs })],
      { a: revoked(-keptAfterExpiryMs) },
      ['patch latchkey-revoked-0 {"a":null}'],
    ],
    [
      "raises the expiry of an entry, and never lowers it",
      [list(0, { a: hour, b: hour })],
      { a: revoked(2 * hour), b: revoked(hour / 2) },
      [`patch latchkey-revoked-0 ${JSON.stringify({ a: text(2 * hour) })}`],
    ],
    [
      "removes values that are not valid",
      [{ ...list(0, {}), invalid: ["x"] }],
      {},
      ['patch latchkey-revoked-0 {"x":null}'],
    ],
    [
      "deletes an empty list beyond the first",
      [list(0, {}, 9), list(1, {})],
      {},
      ["delete latchkey-revoked-1"],
    ],
    ["keeps the newest list, so that the seq never decreases", [list(0, {}), list(1, {})], {}, []],
  ])("%s", ([, lists, decisions, writes]) => {
    expect(lines(planned(lists, decisions))).toEqual(writes);
  });

  test("writes with the uid and resourceVersion of the list that was observed", () => {
    expect(planned([list(0, {})], { a: revoked() }).steps[0]?.[0]).toMatchObject({
      do: "patch",
      body: { metadata: { uid: "u0", resourceVersion: "1" } },
    });
  });

  test.for([
    ["the next expiry", hour, now + hour + keptAfterExpiryMs],
    ["at least a minute, to remove many at once", 1_000 - keptAfterExpiryMs, now + 60_000],
  ] as const)("requeues after %s", ([, end, at]) => {
    expect(planned([list(0, { a: end })], {}).result).toEqual({ kind: "requeue-at", at });
  });

  test("stores at most what a signed list may have", () => {
    expect(revokedTokensLimits.entries * revokedTokensLimits.lists).toBe(
      readingBounds.revokedTokens.values,
    );
  });
});

test.for([
  [entryText(entry(hour)), entry(hour)],
  [entryText({ expiresAt: now, requester: "" }), { expiresAt: now, requester: "" }],
  [entryText({ expiresAt: now + 1, requester: "" }), { expiresAt: now + 1000, requester: "" }],
  ["", undefined],
  ["soon", undefined],
  [`2026-01-01T00:00:00Z ${requester} x`, undefined],
] as const)("the value %j of an entry is read", ([value, expected]) => {
  expect(parseEntry(value)).toEqual(expected);
});

/** The stored lists after a plan. */
function applied(
  lists: readonly RevokedTokensConfigMap[],
  plan: Plan,
  version: number,
): RevokedTokensConfigMap[] {
  const after = new Map(lists.map((one) => [one.metadata.name, one]));
  for (const write of plan.steps.flat()) {
    if (write.do === "delete") after.delete(write.ref.name);
    if (write.do !== "patch" && write.do !== "create") continue;
    const name = write.do === "patch" ? write.ref.name : write.object.metadata.name;
    const data = recordAt(write.do === "patch" ? write.body : write.object, "data");
    const entries = new Map(after.get(name)?.entries);
    for (const [jti, value] of Object.entries(data)) {
      const parsed = typeof value === "string" ? parseEntry(value) : undefined;
      if (parsed === undefined) entries.delete(jti);
      else entries.set(jti, parsed);
    }
    const number = Number(name.slice("latchkey-revoked-".length));
    after.set(name, { ...list(number, {}, version), entries });
  }
  return [...after.values()];
}

test("a revoked token that has not expired never leaves the list, nothing else is added, and no list grows beyond its limit", () => {
  const limits = { entries: 3, lists: 4 };
  const jti = fc.integer({ min: 0, max: 11 }).map((number) => `token-${number}`);
  const step = fc.record({
    jti,
    kind: fc.constantFrom("revoked", "valid", "none"),
    endsInMinutes: fc.integer({ min: 1, max: 30 }),
    minutes: fc.integer({ min: 0, max: 10 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let [lists, time] = [[] as RevokedTokensConfigMap[], now];
      const decisions = new Map<string, RevocationDecision>();
      /** The tokens that must be listed, and all that ever had to be, since they were valid. */
      const due = new Map<string, number>();
      for (const [index, { jti: id, kind, endsInMinutes, minutes }] of steps.entries()) {
        time += minutes * 60_000;
        const end = Math.max(time + endsInMinutes * 60_000, due.get(id) ?? 0);
        if (kind === "revoked") {
          decisions.set(id, { kind, expiresAt: end, requester: "" });
          due.set(id, end);
        }
        if (kind === "valid") {
          decisions.set(id, { kind });
          due.delete(id);
        }
        // A new leader has no decisions.
        if (kind === "none") decisions.clear();
        const plan = planRevokedTokens({ lists, decisions, namespace }, time, limits);
        lists = applied(lists, plan, 100 + index);
        for (const [one, expiresAt] of due)
          expect(isListed(lists, one, expiresAt) || expiresAt <= time).toBe(true);
        const all = lists.flatMap(({ entries }) => [...entries.keys()]);
        expect(all.filter((one) => !due.has(one))).toEqual([]);
        expect(new Set(all).size).toBe(all.length);
        expect(Math.max(0, ...lists.map(({ entries }) => entries.size))).toBeLessThanOrEqual(3);
      }
    }),
  );
});
