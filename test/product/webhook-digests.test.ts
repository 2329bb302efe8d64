import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { boundDigest, sha256 } from "../support/bound-digest.ts";
import { collectionOf, objectOf } from "../support/crd-requests.ts";
import { eventually, nextSecond } from "../support/eventually.ts";
import { type Who, whoIs, worksAs } from "../support/key-request.ts";
import {
  allowRequesters,
  eventsAbout,
  make,
  type Own,
  tryToMake,
  viewOf,
} from "../support/keys-and-tokens.ts";
import { tryKubectl } from "../support/kubectl.ts";
import {
  as,
  api,
  request,
  admin,
  allow,
  ask,
  type Caller,
  replace,
  unique,
} from "../support/policy-request.ts";
import { quota } from "./product-setup.ts";

const requesters = unique("requesters");
const newKey = (): string => randomBytes(24).toString("base64url");
/** A digest of the key alone, which anybody who reads it could claim. */
const unboundDigest = (key: string): string => `sha256:${sha256(key)}`;

interface Person extends Caller {
  readonly user: string;
}

/** A user who may only create keys. */
function person(name: string): Person {
  return { user: unique(name), groups: [requesters] };
}

/** A key of this user, created by that user. */
function ownKey(by: Person, key: string): Promise<Own> {
  return make("OwnedAccessKey", { by, spec: { user: by.user, key } });
}

async function reasonOf(own: Own): Promise<string | undefined> {
  return (await viewOf(own)).conditions["Active"]?.reason;
}

async function becomes(own: Own, reason: string): Promise<void> {
  await eventually(async () => (await reasonOf(own)) === reason, {
    what: `${own.name} to be ${reason}`,
  });
}

describe.skipIf(inject("webhook") === undefined)("a digest in Git", () => {
  beforeAll(() => allowRequesters(requesters));

  /** Whom the key of an active object of this user authenticates as, once it is that user. */
  async function worksFor({ user }: Person, own: Own, key: string): Promise<Who> {
    await becomes(own, "Active");
    // The webhook may receive the key a moment later than the controller.
    await eventually(async () => (await whoIs(key))?.username === user, {
      what: `the key to work as ${user}`,
    });
    return worksAs({ key });
  }

  const whoOf = ({ user }: Person, { uid }: Own): Who => ({
    username: user,
    extra: { "management.service/key-id": [uid] },
  });

  it.each<[string, (key: string, victim: string) => string]>([
    ["bound digest", boundDigest],
    ["index, with another bound digest", (key) => boundDigest(key, "user:nobody")],
  ])("authenticates its owner, and not a user who copied the %s first", async (_what, copyOf) => {
    const [alice, mallory, key] = [person("alice"), person("mallory"), newKey()];
    await ownKey(mallory, copyOf(key, `user:${alice.user}`));
    await nextSecond();
    const own = await ownKey(alice, boundDigest(key, `user:${alice.user}`));
    expect(await worksFor(alice, own, key)).toMatchObject(whoOf(alice, own));
  });

  it("authenticates its owner, and none of ten users who copy it in the same second", async () => {
    const [alice, key] = [person("alice"), newKey()];
    const digest = boundDigest(key, `user:${alice.user}`);
    const thieves = Array.from({ length: 10 }, () => person("thief"));
    const [own] = await Promise.all([
      ownKey(alice, digest),
      ...thieves.map((thief) => ownKey(thief, digest)),
    ]);
    expect(await worksFor(alice, own, key)).toMatchObject(whoOf(alice, own));
  });

  it("is refused if it is a digest of the key alone, in a create and in an update", async () => {
    const [mallory, key] = [person("mallory"), newKey()];
    const refusal = {
      code: 422,
      message: expect.stringMatching(
        /spec\.key: .*bound to the user, team or subject.* kubectl latchkey keys digest --user=NAME/,
      ),
    };
    const spec = { user: mallory.user, key: unboundDigest(key) };
    const answers = [
      await tryToMake("OwnedAccessKey", { by: mallory, spec }),
      await tryToMake("OwnedAccessKey", { by: mallory, spec, withoutWebhook: true }),
      await as(admin).merge((await ownKey(mallory, newKey())).path, { spec: { key: spec.key } }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject(refusal);
      expect(answer.message).not.toContain(sha256(key).slice(0, 8));
    }
    expect(await whoIs(key)).toBeUndefined();
  });

  it.each<[string, (name: string) => Readonly<Record<string, string>>]>([
    ["user", (name) => ({ user: name })],
    ["team", (name) => ({ team: name })],
    ["subject", (name) => ({ subject: name })],
  ])("can be bound to a %s, with the name in the spec", async (kind, specOf) => {
    const [name, key] = [unique("bound"), newKey()];
    await make("OwnedAccessKey", {
      spec: { ...specOf(name), key: boundDigest(key, `${kind}:${name}`) },
    });
    expect((await worksAs({ key })).username).toContain(name);
  });

  it("does not authenticate when it is presented as a key", async () => {
    const [alice, key] = [person("alice"), newKey()];
    const digest = boundDigest(key, `user:${alice.user}`);
    await ownKey(alice, digest);
    await worksAs({ key });
    expect(await whoIs(digest)).toBeUndefined();
  });

  it("is active in the older of two objects of one team, so every member can claim it", async () => {
    const [team, key] = [unique("team"), newKey()];
    const [member, other] = [person("member"), person("other")].map(({ user, groups = [] }) => ({
      user,
      groups: [...groups, team],
    }));
    const spec = { team, key: boundDigest(key, `team:${team}`) };
    const older = await make("OwnedAccessKey", { by: member ?? {}, spec });
    await nextSecond();
    const younger = await make("OwnedAccessKey", { by: other ?? {}, spec });
    await becomes(younger, "DuplicateKey");
    expect((await viewOf(younger)).conditions["Ready"]?.message).not.toContain(older.name);
    expect(await worksAs({ key })).toMatchObject({
      extra: { "management.service/key-id": [older.uid] },
    });
  });

  it("stays with its object if an older object gets it later", async () => {
    const [alice, mallory, key] = [person("alice"), person("mallory"), newKey()];
    const old = await ownKey(mallory, newKey());
    await nextSecond();
    const own = await ownKey(alice, key);
    await worksAs({ key });
    await allow({ kind: "User", name: mallory.user }, [
      {
        apiGroups: ["management.service"],
        resources: ["ownedaccesskeys"],
        resourceNames: [old.name],
        verbs: ["patch", "update"],
      },
    ]);
    const change = request.merge(old.path, { spec: { key } });
    const answer = await eventually(
      async () => {
        const changed = await ask(mallory, change);
        return changed.code !== 403 && changed;
      },
      { what: "mallory to be allowed to patch" },
    );
    expect(answer).toMatchObject({
      code: 422,
      message: expect.stringContaining("already has this key"),
    });
    expect(answer.message).not.toMatch(new RegExp(`${own.name}|${key}`));
    expect(await whoIs(key)).toMatchObject({ username: alice.user });
  });
});

describe.skipIf(inject("webhook") === undefined)("a bound digest", () => {
  beforeAll(() => allowRequesters(requesters));

  it.each<[string, Readonly<Record<string, string | null>>]>([
    ["user", { user: "bob" }],
    ["user to a team", { user: null, team: "web" }],
    ["user to a subject", { user: null, subject: "robot" }],
    ["user to none", { user: null }],
  ])("rejects a change of its %s without a new digest", async (_what, change) => {
    const key = newKey();
    const { path } = await make("OwnedAccessKey", {
      spec: { user: "alice", key: boundDigest(key, "user:alice") },
    });
    const refused = await as(admin).merge(path, { spec: change });
    expect(refused).toMatchObject({
      code: 422,
      message: expect.stringMatching(
        /spec\.key.*user, team and subject.*set key to a digest that is bound to the new/,
      ),
    });
    expect(refused.message).not.toContain(sha256(key).slice(0, 16));
    const without = await replace({}, path, (object) => ({
      ...object,
      spec: Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null)),
    }));
    expect(without).toMatchObject({ code: 422, message: expect.stringContaining("spec.key") });
    const subject = Object.entries(change)
      .map(([field, value]) => (value === null ? "" : `${field}:${value}`))
      .join("");
    const fit = await as(admin).merge(path, {
      spec: { ...change, key: boundDigest(key, subject) },
    });
    expect(fit).toMatchObject({ code: 200 });
  });

  it("that is bound to another user causes an Event on its object when its key is presented", async () => {
    const [alice, key] = [person("alice"), newKey()];
    const own = await ownKey(alice, boundDigest(key, "user:somebody-else"));
    const isReported = async () =>
      (await whoIs(key)) === undefined && (await eventsAbout(own)).includes("KeyMismatch");
    await eventually(isReported, { what: "the Event", every: 250 });
    expect((await eventsAbout(own)).filter((reason) => reason === "KeyMismatch")).toHaveLength(1);
    const list = await api.get("/apis/events.k8s.io/v1/namespaces/default/events");
    const notes = listAt(list, "items")
      .filter((event) => stringAt(recordAt(event, "regarding"), "uid") === own.uid)
      .map((event) => JSON.stringify(event));
    expect(notes.join("\n")).toContain(`user:${alice.user}`);
    expect(notes.join("\n")).not.toMatch(new RegExp(`${key}|${sha256(key).slice(0, 16)}`));
  });

  it("with the same index can be in at most four objects of a requester", async () => {
    const [alice, mallory, key] = [person("alice"), person("mallory"), newKey()];
    const index = sha256(key).slice(0, 16);
    const copy = (): string => `sha256:${index}.${sha256(newKey())}`;
    for (let count = 0; count < 4; count += 1) await ownKey(mallory, copy());
    const tooMany = async () => {
      const answer = await tryToMake("OwnedAccessKey", {
        by: mallory,
        spec: { user: mallory.user, key: copy() },
      });
      return answer.code !== 201 && answer;
    };
    const refused = await eventually(tooMany, { what: "a copy to be refused" });
    expect(refused).toMatchObject({
      code: 422,
      message: expect.stringContaining("already has 4 OwnedAccessKeys"),
    });
    expect(refused.message).not.toContain(index);
    await ownKey(alice, boundDigest(key, `user:${alice.user}`));
    expect(await worksAs({ key })).toMatchObject({ username: alice.user });
  });
});

describe.skipIf(inject("webhook") === undefined)("the use of a key by another object", () => {
  beforeAll(() => allowRequesters(requesters));

  async function used(): Promise<{
    readonly alice: Person;
    readonly own: Own;
    readonly key: string;
  }> {
    const [alice, key] = [person("alice"), newKey()];
    const own = await ownKey(alice, key);
    await worksAs({ key });
    await nextSecond();
    return { alice, own, key };
  }

  it("is not disclosed to users who cannot read that object: the copy is stored, and never active", async () => {
    const { own, key } = await used();
    const mallory = person("mallory");
    const copy = await ownKey(mallory, key);
    await becomes(copy, "DuplicateKey");
    expect(JSON.stringify((await viewOf(copy)).conditions)).not.toContain(own.name);
    await becomes(own, "Active");
  });

  it("is reported to its requester, and to users who may get the object", async () => {
    const { alice, own, key } = await used();
    const auditor = person("auditor");
    await allow({ kind: "User", name: auditor.user }, [
      {
        apiGroups: ["management.service"],
        resources: ["ownedaccesskeys"],
        resourceNames: [own.name],
        verbs: ["get"],
      },
    ]);
    await eventually(async () => (await as(auditor).get(own.path)).code === 200, {
      what: "the auditor to be allowed to get the key",
    });
    const refusal = {
      code: 422,
      message: expect.stringContaining("already has this key"),
    };
    for (const by of [alice, auditor]) {
      // The webhook asks another API server, whose RBAC may be older for a moment.
      const path = `${collectionOf("OwnedAccessKey")}?dryRun=All`;
      const body = objectOf("OwnedAccessKey", unique("own"), { user: by.user, key });
      await eventually(async () => (await as(by).create(path, body)).code === 422, {
        what: `the duplicate to be refused to ${by.user}`,
      });
      expect(await tryToMake("OwnedAccessKey", { by, spec: { user: by.user, key } })).toMatchObject(
        refusal,
      );
    }
  });
});

describe.skipIf(inject("webhook") === undefined)("a requester", () => {
  beforeAll(() => allowRequesters(requesters));

  it("with as many keys as the quota gets 429 for another one, and can delete one", async () => {
    const many = person("many");
    const one = () => tryToMake("OwnedAccessKey", { by: many, spec: { user: many.user, ttl: 1 } });
    const answers: Awaited<ReturnType<typeof one>>[] = [];
    // The quota is counted from a cache, which may miss keys for a moment.
    await eventually(async () => answers[answers.push(await one()) - 1]?.code !== 201, {
      what: "a key to be refused",
      every: 1,
    });
    expect(answers.length).toBeGreaterThan(quota.keys);
    expect(answers.at(-1)).toMatchObject({
      code: 429,
      message: expect.stringContaining(
        `${many.user} already has ${quota.keys} OwnedAccessKeys, which is the limit`,
      ),
    });
    const input = JSON.stringify({
      apiVersion: "management.service/v1",
      kind: "OwnedAccessKey",
      metadata: { name: unique("own") },
    });
    const as = [`--as=${many.user}`, ...(many.groups ?? []).map((group) => `--as-group=${group}`)];
    const printed = await tryKubectl(inject("controlPlane"), ["create", "--filename=-", ...as], {
      input,
    });
    expect(printed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("which is the limit for each requester"),
    });
    expect(await tryToMake("OwnedAccessKey", { by: person("other") })).toMatchObject({ code: 201 });
    expect(await tryToMake("OwnedAccessKey", {})).toMatchObject({ code: 201 });
    const made = answers
      .filter(({ code }) => code === 201)
      .map(({ metadata }) => metadata.name ?? "");
    await Promise.all(
      made
        .slice(quota.keys - 1)
        .map((name) => api.delete(`/apis/management.service/v1/ownedaccesskeys/${name}`)),
    );
    await eventually(
      async () =>
        (await tryToMake("OwnedAccessKey", { by: many, spec: { user: many.user } })).code === 201,
      { what: "room for one more" },
    );
  });
});
