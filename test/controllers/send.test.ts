import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { group } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import type { Question } from "../../src/controllers/question.ts";
import { granteeOfRoleBinding } from "../../src/domain/grants/former-grantee.ts";
import { refusal, type Request } from "../support/fake-client.ts";
import { projectNamespace, rawSharedSecret, rawSigningKeys } from "../support/fake-informers.ts";
import { rawObject } from "../support/fake-list-watch.ts";
import { fakeWorld } from "../support/world.ts";
import { create, patch, probe, recordEvent, remove, replace, status } from "./writes.ts";

const body = { metadata: { resourceVersion: "1" } };
const manifest = (versions: object) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "ns", name: "a", ...versions },
});

test.for([
  [create("a"), { verb: "create", body: manifest({}) }],
  [probe("a"), { verb: "create", body: manifest({}), dryRun: true }],
  [replace("a"), { verb: "replace", body: manifest(body.metadata) }],
  [patch("a"), { verb: "patch", body: { body } }],
  [status("a"), { verb: "patch", body: { subresource: "status", body: { ...body, status: {} } } }],
  [remove("a"), { verb: "delete", body: { uid: "u", resourceVersion: "1" } }],
] as const)(
  "sends the write %j, at the observed uid and resourceVersion",
  async ([write, sent]) => {
    const { client, send } = await fakeWorld({}, { answer: () => ({ answer: "a" }) });
    expect(await send(write)).toHaveProperty("response");
    expect(client.requests).toMatchObject([{ ...sent, resource: resources.secrets }]);
    expect(client.lines).toEqual([`${sent.verb} secrets ns/a`]);
  },
);

test("records an Event", async () => {
  const { client, events, send } = await fakeWorld({});
  expect(await send(recordEvent)).toEqual({ response: undefined });
  expect([client.lines, events]).toEqual([[], ["Failed"]]);
});

test("reads an object into the stores, for the SharedSecrets that requested it", async () => {
  const { refreshed, send } = await fakeWorld({});
  const refresh = { do: "refresh", resource: resources.secrets, ref: { name: "a" } } as const;
  expect(await send(refresh)).toEqual({ answer: { do: "refresh", sources: [] } });
  const sources = ["team/db"];
  expect(await send({ ...refresh, sources })).toEqual({ answer: { do: "refresh", sources } });
  expect(refreshed).toEqual(["secrets a", "secrets a"]);
});

test("never rejects: the error of a request is its outcome", async () => {
  const error = refusal("Conflict");
  const { send } = await fakeWorld({}, { answer: () => error });
  expect(await send(replace("a"))).toEqual({ error });
});

describe("a dry-run create", () => {
  test.for([
    ["the name is taken by the object to delete", refusal("AlreadyExists"), true],
    [
      "the quota is used by the object to delete",
      refusal("Forbidden", { explanation: "exceeded quota: few" }),
      true,
    ],
    ["the API server accepts the object", {}, true],
    ["the object is invalid", refusal("Invalid"), false],
    ["the object is forbidden", refusal("Forbidden"), false],
  ] as const)("if %s", async ([, answer, succeeds]) => {
    const { send } = await fakeWorld({}, { answer: () => answer });
    const outcome = succeeds ? { response: undefined } : { error: answer };
    expect(await send(probe("a"))).toEqual(outcome);
  });
});

describe("a read of an object", () => {
  const ref = { namespace: "team", name: "db" };
  const read = { do: "read", resource: resources.sharedSecrets, ref } as const;

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
  ])("%s", async ([, answer, object]) => {
    const { client, send } = await fakeWorld({}, { answer: () => answer });
    expect(await send(read)).toMatchObject({ answer: { do: "read", object } });
    expect(client.lines).toEqual(["getMetadata sharedsecrets team/db"]);
  });

  test.each(["", "..", "a/b", "%2F"])("of the name %j is gone without a request", async (name) => {
    const { client, send } = await fakeWorld({}, { answer: () => rawObject(ref) });
    for (const impossible of [
      { namespace: "team", name },
      { namespace: name, name: "db" },
    ])
      expect(await send({ ...read, ref: impossible })).toMatchObject({
        answer: { object: { kind: "gone" } },
      });
    expect(client.lines).toEqual([]);
  });

  test.for(["Forbidden", "ServerError", "Network", "Fenced"] as const)(
    "that fails with %s says nothing about it",
    async (code) => {
      const error = refusal(code);
      const { send } = await fakeWorld({}, { answer: () => error });
      expect(await send(read)).toEqual({ error });
    },
  );
});

describe("the answer to a question", () => {
  const listed = {
    namespaces: [projectNamespace("pay")],
    sharedsecrets: [rawSharedSecret("db")],
    secrets: [rawSigningKeys()],
  };
  const large = { password: "Y2FuYXJ5".repeat(2_000) };
  const db = rawObject({ namespace: "team", name: "db" }, { spec: { data: large } });

  async function answerOf(
    questionOf: (source: Extract<Question, { source: unknown }>["source"]) => Question,
    {
      answer = () => db,
      objects = listed,
    }: { answer?: (_: Request) => unknown; objects?: Parameters<typeof fakeWorld>[0] } = {},
  ) {
    const { client, world, send } = await fakeWorld(objects, { answer });
    const [source] = world.stores.sharedSecrets.values();
    if (source === undefined) throw new Error("no SharedSecret is stored");
    return { outcome: await send(questionOf(source)), lines: client.lines };
  }

  test("about an object is read from the API server", async () => {
    const ref = { namespace: "team", name: "db" };
    const { outcome, lines } = await answerOf(() => ({
      do: "read",
      resource: resources.sharedSecrets,
      ref,
    }));
    expect(outcome).toMatchObject({
      answer: { object: { kind: "there", metadata: { uid: "uid-db" } } },
    });
    expect(lines).toEqual(["getMetadata sharedsecrets team/db"]);
  });

  test("about data that is too large for the stores is that data", async () => {
    const sharedsecrets = [rawSharedSecret("db", { data: large })];
    const { outcome, lines } = await answerOf(
      (source) => ({ do: "read-data", source, variant: "copied" }),
      { objects: { ...listed, sharedsecrets } },
    );
    expect(outcome).toHaveProperty("answer.data.password");
    expect(lines).toEqual(["get sharedsecrets team/db"]);
  });

  test("about the targets of a SharedSecret counts them without a request", async () => {
    const { outcome, lines } = await answerOf((source) => ({ do: "count-targets", source }));
    expect([outcome, lines]).toMatchObject([
      { answer: { summary: { desired: 1, pending: 1 } } },
      [],
    ]);
  });

  const claims = {
    iss: "i",
    sub: "ann",
    aud: "a",
    iat: 0,
    nbf: 0,
    exp: 1,
    jti: "j",
    groups: [],
    [group]: { name: "t" },
  };
  test("about a token is the token, if there are signing keys", async () => {
    const sign = () => ({ do: "sign", claims }) as const;
    const { outcome, lines } = await answerOf(sign);
    expect([outcome, lines]).toMatchObject([
      { answer: { minted: { token: expect.any(SecretText) } } },
      [],
    ]);
    const without = await answerOf(sign, { objects: { ...listed, secrets: [] } });
    expect(without.outcome).toEqual({ answer: { do: "sign", minted: undefined } });
  });

  const ref = { namespace: "team", name: "latchkey-db" };
  const subject = { kind: "User", name: "ann" };
  const grantee = granteeOfRoleBinding(ref, { subject, verb: "get" });
  const failure = refusal("ServerError");
  test.for<[string, unknown, object]>([
    [
      "true if the binding allows access",
      { status: { allowed: true, reason: `RBAC: ${grantee.allowedBy}` } },
      { isHonoured: true },
    ],
    ["false if another binding does", { status: { allowed: true } }, { isHonoured: false }],
    [
      "false without access",
      { status: { allowed: false, reason: grantee.allowedBy } },
      { isHonoured: false },
    ],
    ["true if the review is rejected", refusal("Forbidden"), { isHonoured: true }],
    ["an error if the review fails", failure, failure],
  ])("about a deleted grant is %s", async ([, answer, expected]) => {
    const review = {
      do: "review",
      resource: resources.sharedSecrets,
      ref: { ...ref, uid: "u" },
      grantee,
    } as const;
    const { outcome, lines } = await answerOf(() => review, { answer: () => answer });
    expect(lines).toEqual(["review subjectaccessreviews "]);
    expect(
      "error" in outcome ? outcome.error : "answer" in outcome && outcome.answer,
    ).toMatchObject(expected);
  });
});
