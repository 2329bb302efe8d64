import { beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import {
  admin,
  answered,
  arrange,
  ask,
  bind,
  latchkeyAccount,
  patchTypes,
  replace,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";
import { skippedFor } from "../support/skipped.ts";
import {
  collectionOf,
  create,
  dryCreate,
  forceApply,
  made,
  manifest,
  merge,
  requestedKinds,
  root,
  withKey,
  withPolicies,
} from "./policy-fixture.ts";

const key = (suffix: string) => `management.service/requester${suffix}`;
const forged = {
  [key("")]: "mallory",
  [key("-uid")]: "0",
  [key("-groups")]: "system:masters",
  [key("-key-id")]: "stolen",
};
const requesters = unique("requesters");
const alice: Caller = { user: "alice", uid: "4711", groups: ["devs", "ops", requesters] };
const aliceWithKey = withKey(alice, "k-17");
const stampOfAlice = {
  [key("")]: "alice",
  [key("-uid")]: "4711",
  [key("-groups")]: `devs\nops\n${requesters}\nsystem:authenticated`,
};

const isStampedByWebhook = inject("isStampedByWebhook");
/** The webhook records the start of the lifetime, too; before 1.36 it is always there. */
const begun = isStampedByWebhook
  ? { "management.service/created-at": expect.stringMatching(/^20.*Z$/) }
  : {};

beforeAll(() => bind({ kind: "Group", name: requesters }, "latchkey-requester"));

function stamp({ metadata }: Answer): Record<string, string> {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.filter(([name]) => name.startsWith(key(""))));
}

withPolicies.each(requestedKinds)("the requester of $plural", ({ plural, kind, spec }) => {
  const collection = collectionOf(plural);
  const tryAs = (by: Caller, annotations?: object | null): Promise<Answer> =>
    dryCreate(by, collection, manifest(kind, { annotations }, spec));

  async function storedByAlice(): Promise<string> {
    const answer = await create(alice, collection, manifest(kind, {}, spec));
    expect(answer).toMatchObject({ code: 201 });
    return `${collection}/${answer.metadata.name}`;
  }

  describe("on creation", () => {
    it.each<[rule: string, annotations: object | null | undefined]>([
      ["is written on an object without annotations", undefined],
      ["is written on an object whose annotations are null", null],
      ["replaces forged annotations and removes a forged key id", forged],
    ])("%s", async (_rule, annotations) => {
      const answer = await tryAs(alice, annotations);
      expect(answer).toMatchObject({ code: 201 });
      expect(stamp(answer)).toEqual(stampOfAlice);
    });

    it("is written on server-side apply", async () => {
      const body = manifest(kind, { annotations: forged }, spec);
      const answer = await ask(
        { ...root, user: "alice" },
        {
          method: "PATCH",
          path: `${collection}/${body.metadata.name}?fieldManager=test&dryRun=All`,
          body,
          type: patchTypes.apply,
        },
      );
      expect(answer).toMatchObject({ code: 201 });
      expect(stamp(answer)).toEqual({
        [key("")]: "alice",
        [key("-uid")]: "",
        [key("-groups")]: "system:masters\nsystem:authenticated",
      });
    });

    it("does not change other annotations", async () => {
      const note = { "example.com/note": "mine" };
      const { metadata } = await tryAs(alice, note);
      expect(metadata.annotations).toEqual({ ...stampOfAlice, ...begun, ...note });
    });
  });

  describe("on update", () => {
    const annotated = (annotations: object | null) => ({ metadata: { annotations } });
    const removing = (field: string) => (path: string) => {
      const body = [{ op: "remove", path: `/metadata/annotations${field}` }];
      return ask(admin, { method: "PATCH", type: patchTypes.json, path, body });
    };
    it.each<[rule: string, write: (path: string) => Promise<Answer>]>([
      ["a merge patch forges it", (path) => merge(admin, path, annotated(forged))],
      ["a merge patch sets all annotations to null", (path) => merge(admin, path, annotated(null))],
      ["a JSON patch removes all annotations", removing("")],
      [
        "a forced server-side apply forges it",
        (path) => {
          const { apiVersion } = manifest(kind);
          return forceApply(admin, path, { apiVersion, kind, spec, ...annotated(forged) });
        },
      ],
      ["a JSON patch removes one annotation", removing("/management.service~1requester")],
    ])("is restored when %s", async (_rule, write) => {
      const path = await storedByAlice();
      expect(await write(path)).toMatchObject({ code: 200 });
      expect(stamp(await arrange({ method: "GET", path }))).toEqual(stampOfAlice);
    });

    it.each<[rule: string, annotations: object | null | undefined]>([
      ["is restored on replace without annotations", undefined],
      ["is restored on replace with annotations null", null],
      ["is restored on replace with forged annotations", forged],
    ])("%s", async (_rule, annotations) => {
      const path = await storedByAlice();
      const answer = await replace(admin, path, ({ metadata, ...object }) => ({
        ...object,
        metadata: { ...metadata, annotations },
      }));
      expect(answer).toMatchObject({ code: 200 });
      expect(stamp(answer)).toEqual(stampOfAlice);
    });
  });
});

withPolicies.each(requestedKinds)("a restored annotation of $plural", ({ plural, kind, spec }) => {
  const collection = collectionOf(plural);
  const own = (name: string) => `management.service/${name}`;
  const parent = "0b0ff0b4-5bd9-4a0c-9d43-8a2c2f3b9f6e";
  const times = {
    [own("created-at")]: "2025-01-01T00:00:00Z",
    [own("expired-at")]: "2025-02-01T00:00:00.5+01:00",
  };
  const kept = ({ metadata }: Answer) => metadata.annotations;

  it.for<[string, Caller, Readonly<Record<string, string>>, object]>([
    ["the times are kept", alice, times, times],
    [
      "the key id of the parent key is kept",
      alice,
      { [key("-key-id")]: parent },
      { [key("-key-id")]: parent },
    ],
    [
      "the key of the request replaces a given key id",
      aliceWithKey,
      { [key("-key-id")]: parent },
      { [key("-key-id")]: "k-17" },
    ],
    [
      "an invalid time or uid is removed",
      alice,
      {
        [own("created-at")]: "2025-13-01T00:00:00Z",
        [own("expired-at")]: "soon",
        [key("-key-id")]: parent.toUpperCase(),
      },
      {},
    ],
    ["a former requester is removed", alice, { [own("former-requester")]: "bob" }, {}],
  ])("is checked on creation: %s", async ([, by, annotations, then]) => {
    const answer = await dryCreate(by, collection, manifest(kind, { annotations }, spec));
    expect(answer).toMatchObject({ code: 201 });
    expect(kept(answer)).toEqual({ ...begun, ...stampOfAlice, ...then });
  });

  it("can be written only by Latchkey's accounts afterwards", async () => {
    const body = manifest(kind, { annotations: times }, spec);
    await create(alice, collection, body);
    const write = (by: Caller, value: string | null): Promise<Answer> => {
      const annotations = { [own("created-at")]: value, [own("expired-at")]: value };
      return merge(by, `${collection}/${body.metadata.name}`, { metadata: { annotations } });
    };
    for (const value of ["2026-01-01T00:00:00Z", null]) {
      expect(kept(await write(admin, value))).toEqual({ ...stampOfAlice, ...times });
    }
    const controller = latchkeyAccount("latchkey-controller");
    expect(await write(controller, "2026-01-01T00:00:00Z")).toMatchObject({
      code: 200,
      metadata: { annotations: { [own("expired-at")]: "2026-01-01T00:00:00Z" } },
    });
  });
});

withPolicies.each(requestedKinds)(
  "the finalizer of a new object of $plural",
  ({ plural, kind, spec }) => {
    const cleanup = "management.service/cleanup";
    it.for<[string, unknown, readonly string[]]>([
      ["is added", undefined, [cleanup]],
      ["is added if there are none", [], [cleanup]],
      ["is added if they are null", null, [cleanup]],
      ["is added after those of others", ["example.com/hold"], ["example.com/hold", cleanup]],
      ["is not added twice", [cleanup], [cleanup]],
    ])("%s", async ([, finalizers, then]) => {
      const body = { ...manifest(kind, { finalizers }, spec), status: "of the wrong type" };
      const answer = await dryCreate(alice, collectionOf(plural), body);
      expect(answer).toMatchObject({ code: 201, metadata: { finalizers: then } });
    });
  },
);

const tokens = collectionOf("directclusterendpointtokens");
const tokenOf = (metadata: object, spec: object = {}) =>
  manifest("DirectClusterEndpointToken", metadata, spec);

// An exported key has the start of its lifetime, which the webhook writes.
withPolicies("a token that is created from an export", () => {
  const finalizers = ["management.service/cleanup"];
  const make = (metadata: object = {}) =>
    create(alice, tokens, {
      ...tokenOf({ ...metadata, name: unique("export") }, { ttl: 600 }),
      status: { token: "not.a.token", observedGeneration: 1 },
    });
  const start = ({ metadata }: Answer) => metadata.annotations?.["management.service/created-at"];

  it("counts as expired if nothing says when its lifetime began", async () => {
    const made = await make();
    expect(made.metadata.annotations).toEqual({ ...stampOfAlice, ...begun });
    const { annotations } = made.metadata;
    const expected = isStampedByWebhook ? start(made) : "1970-01-01T00:00:00Z";
    expect(start(await make({ annotations, finalizers }))).toBe(expected);
  });

  it("is not an export if only the requester is forged", async () => {
    const answer = await make({ annotations: forged });
    expect(answer.metadata.annotations).toEqual({ ...stampOfAlice, ...begun });
  });

  it("keeps a start that an earlier version recorded", async () => {
    const times = { "management.service/created-at": "2025-01-01T00:00:00Z" };
    const annotations = { ...stampOfAlice, ...times };
    expect(start(await make({ annotations, finalizers }))).toBe("2025-01-01T00:00:00Z");
  });

  it(
    "is distinguished from a new token that the policy sees a second time",
    skippedFor(
      isStampedByWebhook ? "before Kubernetes 1.36, a webhook writes the annotations" : undefined,
    ),
    async () => {
      const name = unique("relabel");
      const policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic";
      const binding = { metadata: { name }, spec: { policyName: name } };
      await made(`${policies}ies`, labelsStampedTokens(name));
      await made(`${policies}ybindings`, binding);
      await eventually(async () => (await make()).metadata.labels?.["seen"] === name, {
        what: "the other policy to change tokens",
      });
      const answer = await make();
      expect(answer.metadata).toMatchObject({ labels: { seen: name } });
      expect(start(answer)).toBeUndefined();
      expect(answer["status"]).toEqual({ observedGeneration: -1 });
    },
  );
});

/**
 * A policy that changes what latchkey-requester-annotations has changed, so that the API server calls that
 * policy again; it calls the two in any order.
 */
function labelsStampedTokens(name: string): object {
  const isDue =
    "object.metadata.?name.orValue('').startsWith('export-') && !has(object.metadata.labels)" +
    " && 'management.service/requester' in object.metadata.?annotations.orValue({})";
  const patch = `[JSONPatch{op: 'add', path: '/metadata/labels', value: {'seen': '${name}'}}]`;
  return {
    metadata: { name },
    spec: {
      failurePolicy: "Fail",
      reinvocationPolicy: "IfNeeded",
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ["management.service"],
            apiVersions: ["*"],
            operations: ["CREATE"],
            resources: ["directclusterendpointtokens"],
          },
        ],
      },
      mutations: [
        { patchType: "JSONPatch", jsonPatch: { expression: `${isDue} ? ${patch} : []` } },
      ],
    },
  };
}

// Only for tokens: latchkey-mint-guard rejects a request that creates keys with this key.
withPolicies("the key of a request for a token", () => {
  const withKeyOfAlice = { ...stampOfAlice, [key("-key-id")]: "k-17" };

  it("is written regardless of the annotations that are sent", async () => {
    const answer = await dryCreate(aliceWithKey, tokens, tokenOf({ annotations: forged }));
    expect(answer).toMatchObject({ code: 201 });
    expect(stamp(answer)).toEqual(withKeyOfAlice);
  });

  it("must be unique: a request with two key ids is rejected", async () => {
    expect(await dryCreate(withKey(alice, "k-17", "k-18"), tokens, tokenOf({}))).toMatchObject(
      answered(403, "exactly one value of the extra management.service/key-id"),
    );
  });

  it("is that of the creation, regardless of the key of an update", async () => {
    const { metadata } = await create(aliceWithKey, tokens, tokenOf({}));
    const by = withKey({ ...root, user: "admin" }, "k-99");
    const labels = { a: "b" };
    const answer = await merge(by, `${tokens}/${metadata.name}`, { metadata: { labels } });
    expect(answer).toMatchObject({ code: 200 });
    expect(stamp(answer)).toEqual(withKeyOfAlice);
  });
});
