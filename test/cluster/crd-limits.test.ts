import { beforeAll, describe, expect, it } from "vitest";
import { stringMapAt } from "../../src/api/parse.ts";
import { collectionOf, everyKind, objectOf, statusWriter } from "../support/crd-requests.ts";
import { api, as, ask, admin, patchTypes, unique, type Answer } from "../support/policy-request.ts";

/** The bytes of all annotations of an object, keys and values, of which kube-apiserver allows 256 KiB. */
function annotationBytes({ metadata }: Answer): number {
  const all = Object.entries(stringMapAt(metadata, "annotations"));
  return all.reduce((sum, pair) => sum + Buffer.byteLength(pair.join("")), 0);
}

// The limits are those of kube-apiserver: Latchkey adds none for metadata.
describe.each(everyKind)("an object of the kind %s", (kind) => {
  let stored: Answer;
  const path = () => `${collectionOf(kind)}/${stored.metadata.name}`;
  const patch = (operations: readonly object[]): Promise<Answer> =>
    ask(admin, { method: "PATCH", type: patchTypes.json, path: path(), body: operations });

  beforeAll(async () => {
    const body = objectOf(kind, unique("limits"), {});
    const annotations = { "example.com/kept": "kept" };
    const metadata = { ...body.metadata, annotations };
    stored = await api.create(collectionOf(kind), { ...body, metadata });
  });

  it("keeps its annotations when its spec, labels or status change", async () => {
    const { annotations } = stored.metadata;
    const changed = await api.merge(path(), { metadata: { labels: { team: "a" } } });
    expect(changed.metadata.annotations).toEqual(annotations);
    await as(statusWriter).merge(`${path()}/status`, { status: { observedGeneration: 1 } });
    await api.merge(path(), { spec: { displayName: "b" } });
    expect((await api.get(path())).metadata.annotations).toEqual(annotations);
  });

  it("has at most 262,144 bytes of annotations", async () => {
    const key = "example.com/big";
    const room = 256 * 1024 - annotationBytes(await api.get(path())) - key.length;
    const annotate = (bytes: number): Promise<Answer> =>
      as(admin).merge(path(), { metadata: { annotations: { [key]: "x".repeat(bytes) } } });
    expect(await annotate(room + 1)).toMatchObject({
      code: 422,
      message: expect.stringContaining("metadata.annotations: Too long"),
    });
    expect(await annotate(room)).toMatchObject({ code: 200 });
    await api.merge(path(), { metadata: { annotations: { [key]: null } } });
  });

  it("is changed by a JSON Patch of at most 10,000 operations", async () => {
    const operation = { op: "add", path: "/metadata/labels", value: { team: "many" } };
    const operations = (count: number) => Array.from({ length: count }, () => operation);
    expect(await patch(operations(10_001))).toMatchObject({
      code: 413,
      reason: "RequestEntityTooLarge",
      message: expect.stringContaining(
        "The allowed maximum operations in a JSON patch is 10000, got 10001",
      ),
    });
    expect(await patch(operations(10_000))).toMatchObject({
      code: 200,
      metadata: { labels: { team: "many" } },
    });
  });

  it.each([
    ["POST", "application/json"],
    ["PATCH", patchTypes.merge],
    ["PATCH", patchTypes.json],
    ["PATCH", patchTypes.apply],
  ] as const)("is not sent by a %s of more than 3 MiB (%s)", async (method, type) => {
    const text = "x".repeat(3 * 1024 * 1024);
    const target = method === "POST" ? collectionOf(kind) : `${path()}?fieldManager=test`;
    const annotations = { text };
    const body =
      type === patchTypes.json
        ? [{ op: "add", path: "/metadata/annotations/text", value: text }]
        : { ...objectOf(kind, "large", {}), metadata: { name: stored.metadata.name, annotations } };
    expect(await ask(admin, { method, type, path: target, body })).toMatchObject({
      code: 413,
      reason: "RequestEntityTooLarge",
    });
  });
});
