import { describe, expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { type Client, createClient, type SizeOf } from "../../../src/kube/client/client.ts";
import type { ApiResponse, ApiRequest } from "../../../src/kube/client/transport.ts";

const ref = { namespace: "ns", name: "one" };
const object = { apiVersion: "v1", kind: "Secret", metadata: { ...ref, resourceVersion: "7" } };
const base = "/api/v1/namespaces/ns/secrets";
const writing = "fieldManager=tester&fieldValidation=Strict";

function client(answer: ApiResponse, sizeOf?: SizeOf) {
  const calls: ApiRequest[] = [];
  const transport = {
    async request(call: ApiRequest) {
      calls.push(call);
      return answer;
    },
    stream: () => Promise.reject(new Error("no stream")),
    close: async () => {},
  };
  return { calls, client: createClient(transport, "tester", sizeOf) };
}

const body = { metadata: { resourceVersion: "7" } };
const patched = { body, contentType: "application/merge-patch+json", responseBytes: 0 };
const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const preconditions = { uid: "u", resourceVersion: "7" };
const deletion = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" };
const { secrets } = resources;

describe("a request", () => {
  test.for<[string, (to: Client) => Promise<unknown>, string, object]>([
    ["get reads one object", (to) => to.get(secrets, ref), "GET /one", { responseBytes: 0 }],
    [
      "getMetadata reads only the metadata",
      (to) => to.getMetadata(secrets, ref),
      "GET /one",
      { accept },
    ],
    [
      "create posts to the collection",
      (to) => to.create(secrets, object),
      `POST ?${writing}`,
      { body: object },
    ],
    [
      "replace puts the object with its resourceVersion",
      (to) => to.replace(secrets, object),
      `PUT /one?${writing}`,
      { body: object },
    ],
    [
      "patch is a merge patch",
      (to) => to.patch(secrets, ref, { body }),
      `PATCH /one?${writing}`,
      patched,
    ],
    [
      "patch of a status goes to the subresource",
      (to) => to.patch(secrets, ref, { subresource: "status", body }),
      `PATCH /one/status?${writing}`,
      patched,
    ],
    [
      "delete sends its preconditions",
      (to) => to.delete(secrets, ref, preconditions),
      "DELETE /one",
      { body: { ...deletion, preconditions } },
    ],
  ])("%s", async ([, send, line, others]) => {
    const { calls, client: to } = client({ status: 200, text: '{"kind":"Secret"}' });
    await send(to);
    const [method, path = ""] = line.split(" ");
    expect(calls).toEqual([{ method, path: base + path, ...others }]);
  });

  test("estimates the size of the response to reads and patches", async () => {
    const { calls, client: to } = client(
      { status: 200, text: '{"kind":"Secret"}' },
      ({ plural }, { name }) => `${plural}/${name}`.length,
    );
    await to.get(secrets, ref);
    await to.patch(secrets, ref, { body });
    await to.getMetadata(secrets, ref);
    await to.create(secrets, object);
    expect(calls.map(({ responseBytes: answerBytes }) => answerBytes)).toEqual([
      11,
      11,
      undefined,
      undefined,
    ]);
  });

  test("resolves to the object, and rejects with the error of the API server", async () => {
    expect(
      await client({ status: 200, text: '{"kind":"Secret","a":1}' }).client.get(secrets, ref),
    ).toEqual({
      kind: "Secret",
      a: 1,
    });
    const refusing = client({ status: 404, text: '{"kind":"Status","reason":"NotFound"}' }).client;
    await expect(refusing.delete(secrets, ref, { uid: "u" })).rejects.toMatchObject({
      code: "NotFound",
    });
  });
});

test("a name that is no path segment rejects, and sends nothing", async () => {
  const { calls, client: to } = client({ status: 200, text: '{"kind":"Secret"}' });
  const wrong = { namespace: "ns", name: "/" };
  const metadata = { ...wrong, resourceVersion: "7" };
  for (const answer of [
    to.get(secrets, wrong),
    to.getMetadata(secrets, wrong),
    to.create(secrets, { ...object, metadata: { namespace: "", name: "one" } }),
    to.replace(secrets, { ...object, metadata }),
    to.patch(secrets, wrong, { body }),
    to.delete(secrets, wrong, preconditions),
  ])
    await expect(answer).rejects.toMatchObject({ code: "Invalid" });
  expect(calls).toEqual([]);
});
