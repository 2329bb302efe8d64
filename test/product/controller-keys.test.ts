import { afterAll, describe, expect, inject, it } from "vitest";
import { expectNoTrouble } from "./controller-oracle.ts";
import { boundDigest } from "../support/bound-digest.ts";
import { eventually } from "../support/eventually.ts";
import {
  eventsAbout,
  historyOf,
  make,
  viewIn,
  viewOf,
  type Own,
  type OwnView,
} from "../support/keys-and-tokens.ts";
import { kubectl } from "../support/kubectl.ts";
import { becomes } from "../support/becomes.ts";
import { api, as, unique, type Caller } from "../support/policy-request.ts";

afterAll(expectNoTrouble);

// The webhook would set a missing key and refuse a duplicate.
const makeKey = (spec: Readonly<Record<string, unknown>>) =>
  make("OwnedAccessKey", { spec, withoutWebhook: true });
const plainKey = () => unique("lk.plain");
const instant = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
const seconds = (count: number) => count * 1000;

const accepted = {
  Ready: { status: "True", reason: "Active" },
  Active: { status: "True" },
  Expired: { status: "False" },
};
const over = {
  Ready: { status: "False", reason: "Expired" },
  Active: { status: "False", reason: "Expired" },
  Expired: { status: "True" },
  Stalled: { status: "True" },
};

function becomesKey(what: string, key: Own, expected: object): Promise<void> {
  return becomes(`${key.name} to be ${what}`, () => viewOf(key), { settled: true, ...expected });
}

/** Waits for a later reconcile of the key: its description is changed and its status follows. */
async function afterAnotherReconcile(key: Own): Promise<OwnView> {
  await api.merge(key.path, { spec: { description: unique("looked at again") } });
  return eventually(
    async () => {
      const view = await viewOf(key);
      return view.settled && view;
    },
    { what: `another reconcile of ${key.name}` },
  );
}

/**
 * The webhook writes this status, but has no permission in these tests: the name is the webhook's,
 * the permissions are an administrator's.
 */
const webhook: Caller = {
  user: "system:serviceaccount:latchkey-system:latchkey-webhook",
  groups: ["system:masters"],
};

async function wasUsed(key: Own, at: number): Promise<void> {
  const body = { status: { lastActivity: instant(at) } };
  const answer = await as(webhook).merge(`${key.path}/status`, body);
  expect(answer).toMatchObject({ code: 200 });
}

describe.skipIf(!inject("hasPolicies"))("an OwnedAccessKey", { concurrent: true }, () => {
  const specs: { rule: string; spec: () => Record<string, unknown>; conditions: object }[] = [
    {
      rule: "with a plain key is accepted",
      spec: () => ({ user: "alice", key: plainKey() }),
      conditions: accepted,
    },
    {
      rule: "with a bound digest is accepted",
      spec: () => ({ user: "alice", key: boundDigest(plainKey(), "user:alice") }),
      conditions: accepted,
    },
    {
      rule: "of a team is accepted",
      spec: () => ({ team: "devs", key: plainKey() }),
      conditions: accepted,
    },
    {
      rule: "of a subject is accepted",
      spec: () => ({ subject: "ci", key: plainKey() }),
      conditions: accepted,
    },
    {
      rule: "that is disabled is ready and not active",
      spec: () => ({ user: "alice", key: plainKey(), disabled: true }),
      conditions: {
        Ready: { status: "True", reason: "Disabled" },
        Active: { status: "False", reason: "Disabled" },
      },
    },
    {
      rule: "without a key reports that",
      spec: () => ({ user: "alice" }),
      conditions: {
        Ready: { status: "False", reason: "MissingKey" },
        Active: { status: "False" },
        Stalled: { status: "True" },
      },
    },
    {
      rule: "without user, team and subject reports that",
      spec: () => ({ key: plainKey() }),
      conditions: {
        Ready: { status: "False", reason: "MissingSubject" },
        Active: { status: "False" },
        Stalled: { status: "True" },
      },
    },
  ];
  it.each(specs)("$rule", async ({ spec, conditions }) => {
    const key = await makeKey(spec());
    await becomesKey("judged", key, { conditions, keyID: key.uid, expiresAt: undefined });
  });

  it("has its expiry in the status", async () => {
    const key = await makeKey({ user: "alice", key: plainKey(), ttl: 3600 });
    await becomesKey("accepted", key, {
      conditions: accepted,
      expiresAt: instant(key.createdAt + seconds(3600)),
    });
  });

  it("with a ttl of fifteen seconds is active that long, and expires without a change of the object", async () => {
    const key = await makeKey({ user: "alice", key: plainKey(), ttl: 15 });
    await becomesKey("expired", key, { conditions: over });
    const end = key.createdAt + seconds(15);
    const states = (await historyOf(key)).map(({ object }) => viewIn(object));
    const ended = states.findIndex(({ conditions }) => conditions.Expired?.status === "True");
    const [before, after] = [states[ended - 1], states[ended]];
    expect(after).toMatchObject({ conditions: over, expiresAt: instant(end) });
    expect(before).toMatchObject({ conditions: accepted, expiresAt: instant(end) });
    expect(Date.parse(after?.conditions.Expired?.lastTransitionTime ?? "")).toBeGreaterThanOrEqual(
      end,
    );
    expect(Date.parse(before?.conditions.Active?.lastTransitionTime ?? "")).toBeLessThan(end);
    // The final conditions are the same: only the annotation with the end of the lifetime was
    // written later.
    expect(states.at(-1)?.conditions).toEqual(after?.conditions);
  });

  it("that has expired is kept, and reported once", async () => {
    const key = await makeKey({ user: "alice", key: plainKey(), ttl: 1 });
    await becomesKey("expired", key, { conditions: over });
    expect(await afterAnotherReconcile(key)).toMatchObject({ conditions: over });
    expect(await api.find(key.path)).toMatchObject({
      code: 200,
      metadata: { name: key.name, uid: key.uid },
    });
    await becomes("the Event", () => eventsAbout(key), ["Expired"]);
    const described = await kubectl(inject("controlPlane"), [
      "describe",
      "ownedaccesskey",
      key.name,
    ]);
    expect(described.slice(described.lastIndexOf("Events:"))).toMatch(/Warning\s+Expired/);
  });

  it("that has expired is valid again when its ttl is raised", async () => {
    const key = await makeKey({ user: "alice", key: plainKey(), ttl: 1 });
    await becomesKey("expired", key, { conditions: over });
    await api.merge(key.path, { spec: { ttl: 3600 } });
    await becomesKey("accepted", key, {
      conditions: accepted,
      expiresAt: instant(key.createdAt + seconds(3600)),
    });
  });

  it("with ttlAfterLastActivity expires a ttl after its last use", async () => {
    const key = await makeKey({
      user: "alice",
      key: plainKey(),
      ttl: 600,
      ttlAfterLastActivity: true,
    });
    await becomesKey("accepted", key, {
      conditions: accepted,
      expiresAt: instant(key.createdAt + seconds(600)),
    });
    await wasUsed(key, key.createdAt + seconds(100));
    await becomesKey("moved", key, {
      conditions: accepted,
      expiresAt: instant(key.createdAt + seconds(700)),
    });
    await wasUsed(key, key.createdAt - seconds(700));
    await becomesKey("expired", key, {
      conditions: over,
      expiresAt: instant(key.createdAt - seconds(100)),
    });
    expect((await api.get(key.path)).status).toMatchObject({
      lastActivity: instant(key.createdAt - seconds(700)),
    });
  });

  it("without ttlAfterLastActivity expires a ttl after its creation, regardless of its use", async () => {
    const key = await makeKey({ user: "alice", key: plainKey(), ttl: 600 });
    await wasUsed(key, key.createdAt + seconds(100));
    await afterAnotherReconcile(key);
    await becomesKey("accepted", key, {
      conditions: accepted,
      expiresAt: instant(key.createdAt + seconds(600)),
    });
  });

  it("is inactive as soon as it is disabled, and active when it is enabled again", async () => {
    const key = await makeKey({ user: "alice", key: plainKey() });
    await becomesKey("accepted", key, { conditions: accepted });
    await api.merge(key.path, { spec: { disabled: true } });
    await becomesKey("disabled", key, {
      conditions: { Ready: { status: "True", reason: "Disabled" }, Active: { status: "False" } },
    });
    await api.merge(key.path, { spec: { disabled: false } });
    await becomesKey("accepted", key, { conditions: accepted });
  });

  it("is a duplicate while an older object has the same value, and becomes active when that is deleted", async () => {
    const text = plainKey();
    const made = [
      await makeKey({ user: "alice", key: text }),
      await makeKey({ user: "bob", key: text }),
    ];
    const [older, younger] = made.toSorted(
      (one, other) => one.createdAt - other.createdAt || (one.uid < other.uid ? -1 : 1),
    );
    if (older === undefined || younger === undefined)
      throw new Error("unreachable: two keys were made");
    const duplicate = { status: "False", reason: "DuplicateKey" };
    await becomesKey("refused", younger, {
      conditions: { Ready: duplicate, Active: duplicate, Stalled: { status: "True" } },
    });
    await becomesKey("accepted", older, { conditions: accepted });
    expect((await viewOf(younger)).conditions.Ready?.message).toContain(older.name);
    await api.delete(older.path);
    await becomesKey("accepted", younger, { conditions: accepted });
  });

  it("is a duplicate even if the older object with the same value has expired", async () => {
    const text = plainKey();
    const older = await makeKey({ user: "alice", key: text, ttl: 1 });
    await becomesKey("expired", older, { conditions: over });
    const younger = await makeKey({ user: "alice", key: text });
    await becomesKey("refused", younger, {
      conditions: { Ready: { status: "False", reason: "DuplicateKey" } },
    });
  });
});
