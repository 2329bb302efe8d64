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
  type Ask,
  type Caller,
} from "../support/policy-request.ts";

const api = "/apis/management.service/v1";
const key = (suffix: string) => `management.service/requester${suffix}`;
const forged = {
  [key("")]: "mallory",
  [key("-uid")]: "0",
  [key("-groups")]: "system:masters",
  [key("-key-id")]: "stolen",
};
const requesters = unique("requesters");
const alice: Caller = { user: "alice", uid: "4711", groups: ["devs", "ops", requesters] };
const aliceWithKey: Caller = { ...alice, extra: { "management.service/key-id": ["k-17"] } };
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

const kinds = [
  { plural: "directclusterendpointtokens", kind: "DirectClusterEndpointToken", spec: { ttl: 600 } },
  { plural: "ownedaccesskeys", kind: "OwnedAccessKey", spec: { user: "alice", disabled: true } },
] as const;

describe.skipIf(!inject("hasPolicies")).each(kinds)(
  "the requester of $plural",
  ({ plural, kind, spec }) => {
    const base = { apiVersion: "management.service/v1", kind, spec };

    async function made(by: Caller): Promise<string> {
      const body = { ...base, metadata: { name: unique("stamp") } };
      const answer = await ask(by, { method: "POST", path: `${api}/${plural}`, body });
      expect(answer).toMatchObject({ code: 201 });
      return `${api}/${plural}/${answer.metadata.name}`;
    }

    describe("on creation", () => {
      const creations: {
        rule: string;
        by: Caller;
        annotations?: Record<string, string> | null;
        then: object;
      }[] = [
        { rule: "is written on an object without annotations", by: alice, then: stampOfAlice },
        {
          rule: "is written on an object whose annotations are null",
          by: alice,
          annotations: null,
          then: stampOfAlice,
        },
        {
          rule: "replaces forged annotations and removes a forged key id",
          by: alice,
          annotations: forged,
          then: stampOfAlice,
        },
      ];
      it.each(creations)("$rule", async ({ by, annotations, then }) => {
        const body = { ...base, metadata: { name: unique("stamp"), annotations } };
        const answer = await ask(by, { method: "POST", path: `${api}/${plural}?dryRun=All`, body });
        expect(answer).toMatchObject({ code: 201 });
        expect(stamp(answer)).toEqual(then);
      });

      it("is written on server-side apply", async () => {
        const name = unique("stamp");
        const body = { ...base, metadata: { name, annotations: forged } };
        const path = `${api}/${plural}/${name}?fieldManager=test&dryRun=All`;
        const answer = await ask(
          { ...admin, user: "alice", groups: ["system:masters"] },
          { method: "PATCH", path, body, type: patchTypes.apply },
        );
        expect(answer).toMatchObject({ code: 201 });
        expect(stamp(answer)).toEqual({
          [key("")]: "alice",
          [key("-uid")]: "",
          [key("-groups")]: "system:masters\nsystem:authenticated",
        });
      });

      it("does not change other annotations", async () => {
        const body = {
          ...base,
          metadata: { name: unique("stamp"), annotations: { "example.com/note": "mine" } },
        };
        const answer = await ask(alice, {
          method: "POST",
          path: `${api}/${plural}?dryRun=All`,
          body,
        });
        expect(answer.metadata.annotations).toEqual({
          ...stampOfAlice,
          ...begun,
          "example.com/note": "mine",
        });
      });
    });

    describe("on update", () => {
      const changes: { rule: string; request: Omit<Ask, "path">; query?: string }[] = [
        {
          rule: "is restored when a merge patch forges it",
          request: {
            method: "PATCH",
            type: patchTypes.merge,
            body: { metadata: { annotations: forged } },
          },
        },
        {
          rule: "is restored when a merge patch sets all annotations to null",
          request: {
            method: "PATCH",
            type: patchTypes.merge,
            body: { metadata: { annotations: null } },
          },
        },
        {
          rule: "is restored when a JSON patch removes all annotations",
          request: {
            method: "PATCH",
            type: patchTypes.json,
            body: [{ op: "remove", path: "/metadata/annotations" }],
          },
        },
        {
          rule: "is restored when a forced server-side apply forges it",
          request: {
            method: "PATCH",
            type: patchTypes.apply,
            body: { ...base, metadata: { annotations: forged } },
          },
          query: "?fieldManager=test&force=true",
        },
        {
          rule: "is restored when a JSON patch removes one annotation",
          request: {
            method: "PATCH",
            type: patchTypes.json,
            body: [{ op: "remove", path: "/metadata/annotations/management.service~1requester" }],
          },
        },
      ];
      it.each(changes)("$rule", async ({ request, query = "" }) => {
        const path = await made(alice);
        const answer = await ask(admin, { ...request, path: path + query });
        expect(answer).toMatchObject({ code: 200 });
        expect(stamp(await arrange({ method: "GET", path }))).toEqual(stampOfAlice);
      });

      const replacements: {
        rule: string;
        annotations: Record<string, string> | null | undefined;
      }[] = [
        { rule: "is restored on replace without annotations", annotations: undefined },
        { rule: "is restored on replace with annotations null", annotations: null },
        { rule: "is restored on replace with forged annotations", annotations: forged },
      ];
      it.each(replacements)("$rule", async ({ annotations }) => {
        const path = await made(alice);
        const answer = await replace(admin, path, ({ metadata, ...object }) => ({
          ...object,
          metadata: { ...metadata, annotations },
        }));
        expect(answer).toMatchObject({ code: 200 });
        expect(stamp(answer)).toEqual(stampOfAlice);
      });
    });
  },
);

describe.skipIf(!inject("hasPolicies")).each(kinds)(
  "a restored annotation of $plural",
  ({ plural, kind, spec }) => {
    const own = (name: string) => `management.service/${name}`;
    const parent = "0b0ff0b4-5bd9-4a0c-9d43-8a2c2f3b9f6e";
    const times = {
      [own("created-at")]: "2025-01-01T00:00:00Z",
      [own("expired-at")]: "2025-02-01T00:00:00.5+01:00",
    };
    const make = (by: Caller, annotations: object, query = "") =>
      ask(by, {
        method: "POST",
        path: `${api}/${plural}${query}`,
        body: {
          apiVersion: "management.service/v1",
          kind,
          metadata: { name: unique("stamp"), annotations },
          spec,
        },
      });
    const kept = ({ metadata }: Answer) => metadata.annotations;

    it.for<[string, Caller, Readonly<Record<string, string>>, object]>([
      ["the times are kept", alice, times, { ...stampOfAlice, ...times }],
      [
        "the key id of the parent key is kept",
        alice,
        { [key("-key-id")]: parent },
        { ...stampOfAlice, [key("-key-id")]: parent },
      ],
      [
        "the key of the request replaces a given key id",
        aliceWithKey,
        { [key("-key-id")]: parent },
        { ...stampOfAlice, [key("-key-id")]: "k-17" },
      ],
      [
        "an invalid time or uid is removed",
        alice,
        {
          [own("created-at")]: "2025-13-01T00:00:00Z",
          [own("expired-at")]: "soon",
          [key("-key-id")]: parent.toUpperCase(),
        },
        stampOfAlice,
      ],
      ["a former requester is removed", alice, { [own("former-requester")]: "bob" }, stampOfAlice],
    ])("is checked on creation: %s", async ([, by, annotations, then]) => {
      const answer = await make(by, annotations, "?dryRun=All");
      expect(answer).toMatchObject({ code: 201 });
      expect(kept(answer)).toEqual({ ...begun, ...then });
    });

    it("can be written only by Latchkey's accounts afterwards", async () => {
      const { metadata } = await make(alice, times);
      const request = (value: string | null): Ask => ({
        method: "PATCH",
        type: patchTypes.merge,
        path: `${api}/${plural}/${metadata.name}`,
        body: {
          metadata: { annotations: { [own("created-at")]: value, [own("expired-at")]: value } },
        },
      });
      for (const value of ["2026-01-01T00:00:00Z", null]) {
        expect(kept(await ask(admin, request(value)))).toEqual({ ...stampOfAlice, ...times });
      }
      const written = await ask(
        latchkeyAccount("latchkey-controller"),
        request("2026-01-01T00:00:00Z"),
      );
      expect(written).toMatchObject({
        code: 200,
        metadata: { annotations: { [own("expired-at")]: "2026-01-01T00:00:00Z" } },
      });
    });
  },
);

describe.skipIf(!inject("hasPolicies")).each(kinds)(
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
      const answer = await ask(alice, {
        method: "POST",
        path: `${api}/${plural}?dryRun=All`,
        body: {
          apiVersion: "management.service/v1",
          kind,
          metadata: { name: unique("stamp"), finalizers },
          spec,
          status: "of the wrong type",
        },
      });
      expect(answer).toMatchObject({ code: 201, metadata: { finalizers: then } });
    });
  },
);

// An exported key has the start of its lifetime, which the webhook writes.
describe.skipIf(!inject("hasPolicies"))("a token that is created from an export", () => {
  const collection = `${api}/directclusterendpointtokens`;
  const finalizers = ["management.service/cleanup"];
  const make = (metadata: object = {}) =>
    ask(alice, {
      method: "POST",
      path: collection,
      body: {
        apiVersion: "management.service/v1",
        kind: "DirectClusterEndpointToken",
        metadata: { ...metadata, name: unique("export") },
        spec: { ttl: 600 },
        status: { token: "not.a.token", observedGeneration: 1 },
      },
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

  it.skipIf(isStampedByWebhook)(
    "is distinguished from a new token that the policy sees a second time",
    async () => {
      const name = unique("relabel");
      await arrange({
        method: "POST",
        path: "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        body: labelsStampedTokens(name),
      });
      await arrange({
        method: "POST",
        path: "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
        body: { metadata: { name }, spec: { policyName: name } },
      });
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
 * A policy that changes what latchkey-requester-stamp has changed, so that the API server calls that
 * policy again; it calls the two in any order.
 */
function labelsStampedTokens(name: string): object {
  const isDue =
    "object.metadata.name.startsWith('export-') && !has(object.metadata.labels)" +
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
describe.skipIf(!inject("hasPolicies"))("the key of a request for a token", () => {
  const collection = `${api}/directclusterendpointtokens`;
  const tokenOf = (annotations?: Record<string, string>) => ({
    apiVersion: "management.service/v1",
    kind: "DirectClusterEndpointToken",
    metadata: { name: unique("stamp"), annotations },
    spec: {},
  });
  const withKey = { ...stampOfAlice, [key("-key-id")]: "k-17" };

  it("is written regardless of the annotations that are sent", async () => {
    const answer = await ask(aliceWithKey, {
      method: "POST",
      path: `${collection}?dryRun=All`,
      body: tokenOf(forged),
    });
    expect(answer).toMatchObject({ code: 201 });
    expect(stamp(answer)).toEqual(withKey);
  });

  it("must be unique: a request with two key ids is rejected", async () => {
    const caller: Caller = { ...alice, extra: { "management.service/key-id": ["k-17", "k-18"] } };
    const answer = await ask(caller, {
      method: "POST",
      path: `${collection}?dryRun=All`,
      body: tokenOf(),
    });
    expect(answer).toMatchObject(
      answered(403, "exactly one value of the extra management.service/key-id"),
    );
  });

  it("is that of the creation, regardless of the key of an update", async () => {
    const made = await ask(aliceWithKey, { method: "POST", path: collection, body: tokenOf() });
    const by: Caller = {
      user: "admin",
      groups: ["system:masters"],
      extra: { "management.service/key-id": ["k-99"] },
    };
    const answer = await ask(by, {
      method: "PATCH",
      path: `${collection}/${made.metadata.name}`,
      type: patchTypes.merge,
      body: { metadata: { labels: { a: "b" } } },
    });
    expect(answer).toMatchObject({ code: 200 });
    expect(stamp(answer)).toEqual(withKey);
  });
});
