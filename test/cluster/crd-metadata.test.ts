import { describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { collectionOf, everyKind, kinds, objectOf } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl } from "../support/kubectl.ts";
import {
  admin,
  api,
  as,
  ask,
  makeNamespace,
  patchTypes,
  request,
  unique,
  type Answer,
  type Ask,
} from "../support/policy-request.ts";

const longAgo = "2001-01-01T00:00:00Z";
const otherUid = "00000000-0000-0000-0000-000000000001";

/** What the server alone sets. */
const serverFields = [
  ["uid", otherUid],
  ["selfLink", "/self"],
  ["generation", 7],
  ["creationTimestamp", longAgo],
  ["deletionTimestamp", longAgo],
  ["deletionGracePeriodSeconds", 30],
] as const;

/** Everything but the name. */
const optionalFields = [
  ...["generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation"],
  ...["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels"],
  ...["annotations", "ownerReferences", "finalizers", "managedFields"],
];

/** A refusal whose message contains a text. */
const refused = (code: number, text: string): object => ({
  code,
  status: "Failure",
  message: expect.stringContaining(text),
});

describe.each(everyKind)("an object of the kind %s", (kind) => {
  const { group, plural, namespaced } = kinds[kind];
  const collection = collectionOf(kind);

  const manifest = (metadata: object = {}) => ({
    ...objectOf(kind, "", {}),
    metadata: { name: unique("meta"), ...metadata },
  });
  const create = (metadata?: object): Promise<Answer> =>
    as(admin).create(collection, manifest(metadata));
  const make = (metadata?: object): Promise<Answer> => api.create(collection, manifest(metadata));
  const pathOf = ({ metadata }: Answer): string => `${collection}/${metadata.name}`;
  const putOf = (stored: Answer, change: object): Ask => {
    const { code: _, warnings: __, message: ___, ...object } = stored;
    return request.replace(pathOf(stored), { ...object, ...change });
  };
  /** Sends a stored object again, with these changes of its metadata. */
  const put = (stored: Answer, change: object): Promise<Answer> =>
    ask(admin, putOf(stored, { metadata: { ...stored.metadata, ...change } }));
  const merge = (stored: Answer, change: object): Promise<Answer> =>
    as(admin).merge(pathOf(stored), change);

  describe("keeps its kind and apiVersion", () => {
    const ways: readonly (readonly [string, (stored: Answer, change: object) => Ask])[] = [
      ["PUT", putOf],
      ["merge patch", (stored, change) => request.merge(pathOf(stored), change)],
      [
        "JSON Patch",
        (stored, change) => ({
          method: "PATCH",
          type: patchTypes.json,
          path: pathOf(stored),
          body: Object.entries(change).map(([field, value]) => ({
            op: "replace",
            path: `/${field}`,
            value,
          })),
        }),
      ],
      [
        "apply",
        (stored, change) => ({
          method: "PATCH",
          type: patchTypes.apply,
          path: `${pathOf(stored)}?fieldManager=test`,
          body: { apiVersion, kind, ...change },
        }),
      ],
    ];

    // With a mutating policy kube-apiserver ignores another kind instead of refusing it.
    it.each(ways)("if another kind is sent by %s", async (_way, requestOf) => {
      const stored = await make();
      const answer = await ask(admin, requestOf(stored, { kind: "Other" }));
      expect([kind, "Status"]).toContain(answer["kind"]);
      expect(await api.get(pathOf(stored))).toMatchObject({ apiVersion, kind });
    });

    // 400 or 422, unless a policy (403) or webhook (500) that mutates comes first and cannot convert.
    it.each(
      ways.flatMap(([way, requestOf]) =>
        [`${group}/v2`, "other.service/v1"].map((version) => [way, version, requestOf] as const),
      ),
    )("and refuses, by %s, the apiVersion %s", async (_way, version, requestOf) => {
      const stored = await make();
      const answer = await ask(admin, requestOf(stored, { apiVersion: version }));
      expect(answer).toMatchObject({
        status: "Failure",
        message: expect.stringContaining(version),
      });
      expect(await api.get(pathOf(stored))).toMatchObject({ apiVersion, kind });
    });
  });

  it.each([`${group}/v2`, `${group}/v1beta1`, "other.service/v1"])(
    "is not created with the apiVersion %s, which is never converted",
    async (version) => {
      const body = { ...manifest(), apiVersion: version };
      expect(await as(admin).create(collection, body)).toMatchObject(refused(400, version));
    },
  );

  it("has no other version, and no conversion", async () => {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`;
    expect((await api.get(path)).spec).toMatchObject({
      conversion: { strategy: "None" },
      versions: [{ name: "v1", served: true, storage: true }],
    });
  });

  describe("has metadata", () => {
    it("that the server sets, whatever the request says", async () => {
      const { metadata } = await make(Object.fromEntries(serverFields));
      expect(metadata).toMatchObject({
        uid: expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/),
        resourceVersion: expect.stringMatching(/./),
        generation: 1,
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      });
      expect(metadata["uid"]).not.toBe(otherUid);
      expect(metadata["creationTimestamp"]).not.toBe(longAgo);
      const never = ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"];
      for (const field of never) expect(metadata).not.toHaveProperty(field);
    });

    it("that may be null in a request", async () => {
      const made = await make(Object.fromEntries(optionalFields.map((field) => [field, null])));
      const again = optionalFields.filter((field) => field !== "resourceVersion");
      const replaced = await put(made, Object.fromEntries(again.map((field) => [field, null])));
      const { uid, creationTimestamp } = made.metadata;
      expect(replaced).toMatchObject({ code: 200, metadata: { uid, creationTimestamp } });
    });

    it.each(["PUT", "merge patch"])("whose read-only fields a %s leaves alone", async (way) => {
      const stored = await make();
      const change = { selfLink: "/self", generation: 7, creationTimestamp: longAgo };
      const changed = await (way === "PUT"
        ? put(stored, change)
        : merge(stored, { metadata: change }));
      const { uid, creationTimestamp } = stored.metadata;
      expect(changed).toMatchObject({
        code: 200,
        metadata: { uid, creationTimestamp, generation: 1 },
      });
      expect(changed.metadata).not.toHaveProperty("selfLink");
    });

    it.each([
      ["another uid", { uid: otherUid }, 409, "Precondition failed: UID", 422],
      ...(["deletionTimestamp", "deletionGracePeriodSeconds"] as const).map(
        (field) =>
          [
            `a ${field}`,
            { [field]: field === "deletionTimestamp" ? longAgo : 3 },
            422,
            `metadata.${field}`,
            422,
          ] as const,
      ),
      ["another name", { name: "other" }, 400, "does not match the name on the URL", 400],
      ["a former resourceVersion", { resourceVersion: "1" }, 409, "has been modified", 409],
    ] as const)("and refuses %s", async (_what, change, code, text, mergeCode) => {
      const stored = await make();
      expect(await put(stored, change)).toMatchObject(refused(code, text));
      expect(await merge(stored, { metadata: change })).toMatchObject({ code: mergeCode });
    });

    it("and refuses a PUT without a resourceVersion, and a POST with one", async () => {
      const stored = await make();
      expect(await put(stored, { resourceVersion: undefined })).toMatchObject(
        refused(422, "metadata.resourceVersion: Invalid value: 0: must be specified for an update"),
      );
      const { message, status } = await create({ resourceVersion: "1" });
      expect([status, message]).toEqual([
        "Failure",
        "resourceVersion should not be set on objects to be created",
      ]);
    });

    it("whose uid is another after it was deleted and created again", async () => {
      const { metadata } = await make();
      const path = `${collection}/${metadata.name}`;
      await api.delete(path);
      await as(admin).merge(path, { metadata: { finalizers: null } });
      expect((await make({ name: metadata.name })).metadata["uid"]).not.toBe(metadata["uid"]);
    });

    it("whose resourceVersion changes with the object, and generation with its spec", async () => {
      const stored = await make();
      const labelled = (team: string) => merge(stored, { metadata: { labels: { team } } });
      const versionOf = ({ metadata }: Answer) => metadata.resourceVersion;
      const [first, second] = [await labelled("a"), await labelled("b")];
      expect(versionOf(second)).not.toBe(versionOf(first));
      expect(versionOf(await merge(stored, {}))).toBe(versionOf(second));
      expect(second.metadata["generation"]).toBe(1);
      // The spec of a token is immutable, so its generation changes when it is deleted.
      const isToken = kind === "DirectClusterEndpointToken";
      if (isToken) await api.delete(pathOf(stored));
      else await api.merge(pathOf(stored), { spec: { displayName: "b" } });
      expect((await api.get(pathOf(stored))).metadata["generation"]).toBe(2);
    });

    it("whose resourceVersion is where a watch begins", async () => {
      const stored = await make();
      const [before, after] = [
        await merge(stored, { metadata: { labels: { team: "a" } } }),
        await merge(stored, { metadata: { labels: { team: "b" } } }),
      ];
      const from = `resourceVersion=${before.metadata.resourceVersion}&timeoutSeconds=2`;
      const of = `fieldSelector=metadata.name%3D${stored.metadata.name}`;
      const events = async () => {
        const path = `${collection}?watch=1&${from}&${of}`;
        const lines = await kubectl(inject("controlPlane"), ["get", "--raw", path]);
        return lines.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
      };
      // A controller, if there is one, may write the object later.
      const [first] = await eventually(
        async () => {
          const seen = await events();
          return seen.length > 0 && seen;
        },
        { what: "the watch to send an event" },
      );
      expect(first).toMatchObject({
        type: "MODIFIED",
        object: { metadata: { resourceVersion: after.metadata.resourceVersion } },
      });
    });

    it("with labels that select it, and annotations that do not", async () => {
      const value = unique("value");
      const { metadata } = await make({ labels: { team: value }, annotations: { team: value } });
      const found = await api.get(`${collection}?labelSelector=team%3D${value}`);
      expect(found).toMatchObject({ items: [{ metadata: { name: metadata.name } }] });
      const field = `fieldSelector=metadata.annotations.team%3D${value}`;
      expect(await api.find(`${collection}?${field}`)).toMatchObject(
        refused(400, "field label not supported"),
      );
    });
  });

  describe("is deleted", () => {
    const remove = (stored: Answer, preconditions: object): Promise<Answer> =>
      ask(admin, {
        ...request.delete(pathOf(stored)),
        body: { apiVersion: "v1", kind: "DeleteOptions", preconditions },
      });

    it.each([
      ["uid", { uid: otherUid }, "does not match the UID in record"],
      ["resourceVersion", { resourceVersion: "1" }, "does not match the ResourceVersion in record"],
    ])("unless its %s is another than that of a precondition", async (_field, other, text) => {
      const stored = await make();
      const { uid, resourceVersion } = stored.metadata;
      expect(await remove(stored, other)).toMatchObject(refused(409, text));
      expect(await remove(stored, { uid, resourceVersion })).toMatchObject({ code: 200 });
    });
  });

  describe("has a name", () => {
    it("that is required", async () => {
      expect(await create({ name: undefined })).toMatchObject(
        refused(422, "metadata.name: Required value: name or generateName is required"),
      );
    });

    it("that is refused a second time, with the object that has it", async () => {
      const { metadata } = await make();
      const details = { name: metadata.name, group, kind: plural };
      expect(await create({ name: metadata.name })).toMatchObject({
        ...refused(409, `${plural}.${group} "${metadata.name}" already exists`),
        apiVersion: "v1",
        kind: "Status",
        reason: "AlreadyExists",
        details,
      });
    });

    it.each([
      ["a short prefix", "short-", "short-"],
      ["the first 58 characters of a long prefix", "x".repeat(100), "x".repeat(58)],
    ])("that the server generates from %s", async (_what, generateName, prefix) => {
      const { metadata } = await make({ name: undefined, generateName });
      expect(metadata.name).toMatch(new RegExp(`^${prefix}[a-z0-9]{5}$`));
      expect(metadata["generateName"]).toBe(generateName);
    });

    it("that is not generated if the request has one", async () => {
      const name = unique("given");
      expect((await make({ name, generateName: "ignored-" })).metadata.name).toBe(name);
    });

    it.each([
      ["capital letters", "UPPER-"],
      ["an underscore", "under_score"],
      ["254 characters", "x".repeat(254)],
    ])("that is not generated from a prefix with %s", async (_what, generateName) => {
      expect(await create({ name: undefined, generateName })).toMatchObject(
        refused(422, "metadata.generateName: Invalid value"),
      );
    });

    // kube-apiserver draws up to 8 names of 27^5. A request with both fields takes the same last
    // step: "If we have a name and generated name, the server picked a name that already exists."
    it("that is taken, though generateName is set: 409", async () => {
      const { metadata } = await make();
      const details = { name: metadata.name, group, kind: plural, retryAfterSeconds: 1 };
      expect(await create({ name: metadata.name, generateName: "taken-" })).toMatchObject({
        ...refused(409, "the server was not able to generate a unique name for the object"),
        apiVersion: "v1",
        kind: "Status",
        reason: "AlreadyExists",
        details,
      });
    });
  });

  it.each(namespaced ? [collection] : [])(
    "has a name of its own in the namespace of its path",
    async () => {
      const text = "does not match the namespace";
      const stored = await make();
      const { name } = stored.metadata;
      const elsewhere = collection.replace("/default/", `/${await makeNamespace()}/`);
      expect(await as(admin).create(elsewhere, manifest({ name }))).toMatchObject({ code: 201 });
      expect(stored.metadata["namespace"]).toBe("default");
      expect(await create({ namespace: "kube-system" })).toMatchObject(refused(400, text));
      expect(await put(stored, { namespace: "kube-system" })).toMatchObject(refused(400, text));
    },
  );

  it.each(namespaced ? [] : [collection])(
    "has no namespace, whatever the request says",
    async () => {
      const stored = await make({ namespace: "kube-system" });
      expect(stored.metadata).not.toHaveProperty("namespace");
      const replaced = await put(stored, { namespace: "kube-system" });
      expect(replaced.code).toBe(200);
      expect(replaced.metadata).not.toHaveProperty("namespace");
    },
  );

  it("is in a list with an envelope of its own", async () => {
    const { metadata } = await make({ labels: { listed: unique("list") } });
    const label = `listed%3D${metadata.labels?.["listed"]}`;
    const {
      code: _,
      warnings: __,
      ...list
    } = await api.get(`${collection}?labelSelector=${label}`);
    expect(list).toEqual({
      apiVersion,
      kind: `${kind}List`,
      metadata: { continue: "", resourceVersion: expect.stringMatching(/^\d+$/) },
      items: [expect.objectContaining({ apiVersion, kind })],
    });
  });
});

it("a namespace has the name of a DNS label", async () => {
  expect(
    await as(admin).create("/api/v1/namespaces", { metadata: { name: "two.labels" } }),
  ).toMatchObject(refused(422, "must not contain dots"));
});
