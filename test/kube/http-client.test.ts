import { describe, expect, test } from "vitest";
import { resources } from "../../src/api/resources.ts";
import type { Client } from "../../src/kube/client.ts";
import { createClient, type SizeOf } from "../../src/kube/http-client.ts";
import type { ApiResponse, ApiRequest } from "../../src/kube/transport.ts";

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

describe("a request", () => {
  test.for<[string, (client: Client) => Promise<unknown>, ApiRequest]>([
    [
      "get reads one object",
      (to) => to.get(resources.secrets, ref),
      { method: "GET", path: `${base}/one`, responseBytes: 0 },
    ],
    [
      "getMetadata reads only the metadata",
      (to) => to.getMetadata(resources.secrets, ref),
      {
        method: "GET",
        path: `${base}/one`,
        accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
      },
    ],
    [
      "create posts to the collection",
      (to) => to.create(resources.secrets, object),
      { method: "POST", path: `${base}?${writing}`, body: object },
    ],
    [
      "replace puts the object with its resourceVersion",
      (to) => to.replace(resources.secrets, object),
      { method: "PUT", path: `${base}/one?${writing}`, body: object },
    ],
    [
      "patch is a merge patch",
      (to) => to.patch(resources.secrets, ref, { body: { metadata: { resourceVersion: "7" } } }),
      {
        method: "PATCH",
        path: `${base}/one?${writing}`,
        body: { metadata: { resourceVersion: "7" } },
        contentType: "application/merge-patch+json",
        responseBytes: 0,
      },
    ],
    [
      "patch of a status goes to the subresource",
      (to) =>
        to.patch(resources.secrets, ref, {
          subresource: "status",
          body: { metadata: { resourceVersion: "7" } },
        }),
      {
        method: "PATCH",
        path: `${base}/one/status?${writing}`,
        body: { metadata: { resourceVersion: "7" } },
        contentType: "application/merge-patch+json",
        responseBytes: 0,
      },
    ],
    [
      "delete sends its preconditions",
      (to) => to.delete(resources.secrets, ref, { uid: "u", resourceVersion: "7" }),
      {
        method: "DELETE",
        path: `${base}/one`,
        body: {
          apiVersion: "v1",
          kind: "DeleteOptions",
          preconditions: { uid: "u", resourceVersion: "7" },
          propagationPolicy: "Background",
        },
      },
    ],
  ])("%s", async ([, send, call]) => {
    const { calls, client: to } = client({ status: 200, text: "{}" });
    await send(to);
    expect(calls).toEqual([call]);
  });

  test("estimates the size of the response to reads and patches", async () => {
    const { calls, client: to } = client(
      { status: 200, text: "{}" },
      ({ plural }, { name }) => `${plural}/${name}`.length,
    );
    await to.get(resources.secrets, ref);
    await to.patch(resources.secrets, ref, { body: { metadata: { resourceVersion: "7" } } });
    await to.getMetadata(resources.secrets, ref);
    await to.create(resources.secrets, object);
    expect(calls.map(({ responseBytes: answerBytes }) => answerBytes)).toEqual([
      11,
      11,
      undefined,
      undefined,
    ]);
  });

  test("resolves to the object, and rejects with the error of the API server", async () => {
    expect(
      await client({ status: 200, text: '{"a":1}' }).client.get(resources.secrets, ref),
    ).toEqual({ a: 1 });
    const refusing = client({ status: 404, text: '{"reason":"NotFound"}' }).client;
    await expect(refusing.delete(resources.secrets, ref, { uid: "u" })).rejects.toMatchObject({
      code: "NotFound",
    });
  });
});
