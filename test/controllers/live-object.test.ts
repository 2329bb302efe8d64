import { expect, test } from "vitest";
import { isSourceGone } from "../../src/controllers/live-object.ts";
import { refusal, FakeClient } from "../support/fake-client.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const ref = { namespace: "team", name: "db" };
const found = (uid: string) => rawObject({ ...ref, uid });

test.for<[string, string | undefined, unknown, boolean]>([
  [
    "is gone if the API server does not find it by name",
    "u",
    refusal("NotFound", { objectName: "db" }),
    true,
  ],
  ["is not gone when the API server does not serve the kind", "u", refusal("NotFound"), false],
  [
    "is not gone if another object is not found",
    "u",
    refusal("NotFound", { objectName: "team" }),
    false,
  ],
  ["exists with its uid", "u", found("u"), false],
  ["is gone if its name has another uid", "u", found("other"), true],
  ["exists with any uid if none is known", undefined, found("other"), false],
])("a source %s", async ([, uid, answer, expected]) => {
  const client = new FakeClient(() => answer);
  expect(await isSourceGone(ref, uid, client)).toBe(expected);
  expect(client.lines).toEqual(["getMetadata sharedsecrets team/db"]);
});

test.each(["", "..", "a/b", "%2F"])(
  "a source of the name %j is gone without a request",
  async (name) => {
    const client = new FakeClient(() => found("u"));
    expect(await isSourceGone({ namespace: "team", name }, "u", client)).toBe(true);
    expect(await isSourceGone({ namespace: name, name: "db" }, "u", client)).toBe(true);
    expect(client.lines).toEqual([]);
  },
);

test.for(["Forbidden", "ServerError", "Network", "Fenced"] as const)(
  "%s says nothing about a source",
  async (code) => {
    await expect(isSourceGone(ref, "u", new FakeClient(() => refusal(code)))).rejects.toMatchObject(
      { code },
    );
  },
);
