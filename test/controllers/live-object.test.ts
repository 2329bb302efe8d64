import { expect, test } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { readLive } from "../../src/controllers/live-object.ts";
import { refusal, FakeClient } from "../support/fake-client.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const ref = { namespace: "team", name: "db" };
const sharedSecrets = resources.sharedSecrets;

test.for<[string, unknown, object]>([
  [
    "is gone if the API server does not find it by name",
    refusal("NotFound", { objectName: "db" }),
    { kind: "gone" },
  ],
  [
    "is unknown when the API server does not serve the kind",
    refusal("NotFound"),
    { kind: "unknown" },
  ],
  [
    "is unknown if another object is not found",
    refusal("NotFound", { objectName: "team" }),
    { kind: "unknown" },
  ],
  [
    "exists with its uid",
    rawObject({ ...ref, uid: "u" }),
    { kind: "there", metadata: { uid: "u" } },
  ],
])("an object %s", async ([, answer, expected]) => {
  const client = new FakeClient(() => answer);
  expect(await readLive(sharedSecrets, ref, client)).toMatchObject(expected);
  expect(client.lines).toEqual(["getMetadata sharedsecrets team/db"]);
});

test.each(["", "..", "a/b", "%2F"])(
  "an object of the name %j is gone without a request",
  async (name) => {
    const client = new FakeClient(() => rawObject(ref));
    for (const impossible of [
      { namespace: "team", name },
      { namespace: name, name: "db" },
    ])
      expect(await readLive(sharedSecrets, impossible, client)).toEqual({ kind: "gone" });
    expect(client.lines).toEqual([]);
  },
);

test.for(["Forbidden", "ServerError", "Network", "Fenced"] as const)(
  "%s says nothing about an object",
  async (code) => {
    const client = new FakeClient(() => refusal(code));
    await expect(readLive(sharedSecrets, ref, client)).rejects.toMatchObject({ code });
  },
);
