import { describe, expect, test } from "vitest";
import { keyOf, type ObjectRef } from "../../src/api/object.ts";
import { type Resource, resources } from "../../src/api/resources.ts";
import { applyPlan } from "../../src/controllers/apply-plan.ts";
import type { Write } from "../../src/domain/plan/plan.ts";
import type { KubeErrorCode } from "../../src/kube/errors.ts";
import { refusal, type Request, FakeClient } from "../support/fake-client.ts";

const secrets = resources.secrets;
const ref = (name: string) => ({ namespace: "ns", name });
const manifest = (name: string, resourceVersion?: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...ref(name), ...(resourceVersion === undefined ? {} : { resourceVersion }) },
});
const create = (name: string): Write => ({
  do: "create",
  resource: secrets,
  object: manifest(name),
});
const replace = (name: string): Write => ({
  do: "replace",
  resource: secrets,
  object: manifest(name, "1"),
});
const patch = (name: string): Write => ({
  do: "patch",
  resource: secrets,
  ref: ref(name),
  body: { metadata: { resourceVersion: "1" } },
});
const status = (name: string): Write => ({
  do: "patch",
  resource: secrets,
  ref: ref(name),
  subresource: "status",
  body: { metadata: { resourceVersion: "1" }, status: {} },
});
const remove = (name: string): Write => ({
  do: "delete",
  resource: secrets,
  ref: ref(name),
  uid: "u",
  resourceVersion: "1",
});
const recordEvent: Write = {
  do: "record-event",
  event: {
    resource: secrets,
    subject: { ...ref("a"), uid: "u" },
    type: "Warning",
    reason: "Failed",
    note: "",
    deduplicationKey: "",
  },
};

function setup(answer?: (request: Request) => unknown) {
  const client = new FakeClient(answer);
  const [observed, events, refreshed] = [
    new Array<unknown>(),
    new Array<string>(),
    new Array<string>(),
  ];
  const deps = {
    client,
    recordWrite: (_: unknown, raw: unknown) => void observed.push(raw),
    recordDelete: ({ plural }: Resource, found: ObjectRef, uid: string) =>
      void observed.push(`no ${plural} ${keyOf(found)} ${uid}`),
    recordEvent: async ({ reason }: { reason: string }) => void events.push(reason),
    refresh: async ({ plural }: Resource, found: ObjectRef) =>
      void refreshed.push(`${plural} ${keyOf(found)}`),
  };
  return {
    client,
    observed,
    events,
    refreshed,
    carry: (...steps: readonly (readonly Write[])[]) => applyPlan({ steps }, deps),
  };
}

describe("a plan", () => {
  test("is executed write by write, each at the observed uid and resourceVersion", async () => {
    const { client, events, carry } = setup();
    await carry([create("a"), replace("b")], [patch("c"), status("d"), remove("e")], [recordEvent]);
    expect(client.lines).toEqual([
      "create secrets ns/a",
      "replace secrets ns/b",
      "patch secrets ns/c",
      "patch secrets ns/d",
      "delete secrets ns/e",
    ]);
    expect(client.requests.slice(2).map(({ body }) => body)).toEqual([
      { body: { metadata: { resourceVersion: "1" } } },
      { subresource: "status", body: { metadata: { resourceVersion: "1" }, status: {} } },
      { uid: "u", resourceVersion: "1" },
    ]);
    expect(events).toEqual(["Failed"]);
  });

  test("puts the responses into the stores for the next reconcile", async () => {
    const { observed, carry } = setup(({ ref: { name } }) => ({ answer: name }));
    await carry([create("a"), replace("b"), patch("c"), remove("d")]);
    expect(observed).toEqual([
      { answer: "a" },
      { answer: "b" },
      { answer: "c" },
      "no secrets ns/d u",
    ]);
  });

  test("puts an object that its finalizers keep after a delete into the stores", async () => {
    const kept = { metadata: { deletionTimestamp: "now" } };
    const { observed, carry } = setup(() => kept);
    await carry([remove("d")]);
    expect(observed).toEqual([kept]);
  });

  test("starts a step when the previous one has ended", async () => {
    const waiting: (() => void)[] = [];
    const { client, carry } = setup(() => new Promise<void>((resolve) => waiting.push(resolve)));
    const carried = carry([create("a"), create("b")], [create("c")]);
    await Promise.resolve();
    expect(client.lines).toHaveLength(2);
    waiting[1]?.();
    await Promise.resolve();
    expect(client.lines).toHaveLength(2);
    waiting[0]?.();
    await expect.poll(() => client.lines).toHaveLength(3);
    waiting[2]?.();
    await carried;
  });

  test("ends with the first failed step, once its other writes have ended", async () => {
    const { client, observed, carry } = setup(({ ref: { name } }) =>
      name === "a" ? refusal("Forbidden") : { answer: name },
    );
    await expect(carry([create("a"), create("b")], [create("c")])).rejects.toMatchObject({
      code: "Forbidden",
    });
    expect([client.lines.length, observed]).toEqual([2, [{ answer: "b" }]]);
  });

  test("uses the resourceVersions of earlier steps in later steps", async () => {
    const { client, carry } = setup(() => ({ metadata: { resourceVersion: "5" } }));
    await carry([replace("a")], [patch("a"), replace("b")], [replace("a")], [remove("a")]);
    const versions = client.requests.map(
      ({ body }) => JSON.stringify(body).match(/"resourceVersion":"(\d)"/)?.[1],
    );
    expect(versions).toEqual(["1", "5", "1", "5", "5"]);
  });
});

describe("reads the object again", () => {
  test.for<[string, Write, KubeErrorCode]>([
    ["a conflict", replace("a"), "Conflict"],
    ["a name that already exists", create("a"), "AlreadyExists"],
    ["a replace of a missing object", replace("a"), "NotFound"],
    ["a patch of a missing object", patch("a"), "NotFound"],
    ["a delete of a missing object", remove("a"), "NotFound"],
    ["a delete without a response", remove("a"), "Network"],
    ["a status write without a response", status("a"), "Network"],
  ])("after %s", async ([, write, code]) => {
    const { refreshed, carry } = setup(() => refusal(code));
    await carry([write]).catch(() => {});
    expect(refreshed).toEqual(["secrets ns/a"]);
  });

  test.for<KubeErrorCode>([
    "Forbidden",
    "Invalid",
    "ServerError",
    "TooManyRequests",
    "Fenced",
    "Unauthorized",
  ])("but not after %s, which says nothing about the object", async (code) => {
    const { refreshed, carry } = setup(() => refusal(code));
    await expect(carry([replace("a")])).rejects.toMatchObject({ code });
    expect(refreshed).toEqual([]);
  });
});

describe("a dry-run create", () => {
  const probe: Write = { do: "dry-run-create", resource: secrets, object: manifest("a") };
  const full = refusal("Forbidden", { explanation: "exceeded quota: few" });

  test.for<[string, unknown]>([
    ["the name is taken by the object to delete", refusal("AlreadyExists")],
    ["the quota is used by the object to delete", full],
    ["the API server accepts the object", {}],
  ])("continues the plan if %s", async ([, answer]) => {
    const { client, observed, carry } = setup(({ dryRun }) => (dryRun === true ? answer : {}));
    await carry([probe], [remove("a")]);
    expect(client.lines).toEqual(["create secrets ns/a", "delete secrets ns/a"]);
    expect(observed).toEqual(["no secrets ns/a u"]);
  });

  test.for<[string, unknown]>([
    ["is invalid", refusal("Invalid")],
    ["is forbidden", refusal("Forbidden")],
  ])("ends the plan before a delete if the new object %s", async ([, answer]) => {
    const { client, carry } = setup(() => answer);
    await expect(carry([probe], [remove("a")])).rejects.toBe(answer);
    expect(client.lines).toEqual(["create secrets ns/a"]);
  });
});

describe("an object that does not exist", () => {
  test("needs no status, no finalizer and no delete", async () => {
    const { client, carry } = setup(() => refusal("NotFound"));
    await carry([patch("a"), status("a"), remove("a")], [remove("b")]);
    expect(client.lines).toHaveLength(4);
  });

  test.for<[string, Write]>([
    ["created in a deleted namespace", create("a")],
    ["replaced", replace("a")],
  ])("cannot be %s", async ([, write]) => {
    await expect(setup(() => refusal("NotFound")).carry([write])).rejects.toMatchObject({
      code: "NotFound",
    });
  });

  test.for<[string, Write]>([
    ["a patch", patch("a")],
    ["a delete", remove("a")],
  ])("is distinguished from a changed one, for %s", async ([, write]) => {
    await expect(setup(() => refusal("Conflict")).carry([write])).rejects.toMatchObject({
      code: "Conflict",
    });
  });
});
