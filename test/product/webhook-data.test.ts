import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { becomesAsked, recordAdmission, type AdmissionRecorder } from "./admission-recorder.ts";
import { tryKubectl, type KubectlResult } from "../support/kubectl.ts";
import { api, as, bind, unique } from "../support/policy-request.ts";
import { base64, sharedSecretPath } from "../support/shared-secret-requests.ts";

const controlPlane = inject("controlPlane");
const namespace = unique("data");
const webhookName = "sharedsecret-data.management.service";
/** A secret value that is not base64. */
const canary = "canary-5b3f!";
/** The administrator of a namespace by the shipped role, without other permissions. */
const alice = { user: "alice", groups: ["system:authenticated"] };

const manifest = (data: unknown, name: string): string =>
  JSON.stringify({
    apiVersion,
    kind: "SharedSecret",
    metadata: { name, namespace },
    spec: { data },
  });
const create = (data: unknown, name = unique("data")) =>
  as(alice).create(`${sharedSecretPath(namespace)}?dryRun=All`, JSON.parse(manifest(data, name)));

function asAlice(args: readonly string[], input = ""): Promise<KubectlResult> {
  return tryKubectl(controlPlane, args, { user: "alice", input });
}

beforeAll(async () => {
  await api.create("/api/v1/namespaces", { metadata: { name: namespace } });
  await bind({ kind: "User", name: "alice" }, "latchkey-sharedsecret-admin", namespace);
});

describe.skipIf(inject("webhook") === undefined)("a value of spec.data that is not base64", () => {
  const ways: readonly (readonly [string, readonly string[]])[] = [
    ["created", ["create", "--filename=-"]],
    ["applied", ["apply", "--filename=-"]],
    ["applied server-side", ["apply", "--server-side", "--filename=-"]],
  ];
  it.each(ways)(
    "is rejected with the name of its key and a fix when it is %s",
    async (_how, args) => {
      const { code, stdout, stderr } = await asAlice(
        args,
        manifest({ good: base64("good"), password: canary, token: canary }, "wrong"),
      );
      expect(code).toBe(1);
      expect(stderr).toContain(
        'The SharedSecret "wrong" is invalid: spec.data.password: must be base64 (RFC 4648 section 4, with padding); encode the value with `base64 -w0`',
      );
      expect(stderr).toContain("1 more value of spec.data is not base64");
      expect(`${stdout}${stderr}`).not.toMatch(new RegExp(`${canary}|${base64("good")}|<nil>`));
    },
  );

  it("is rejected in the same way in a patch, and every other change is accepted", async () => {
    await api.create(
      sharedSecretPath(namespace),
      JSON.parse(manifest({ good: base64("good") }, "patched")),
    );
    for (const patch of [
      ["--type=merge", `--patch={"spec":{"data":{"password":"${canary}"}}}`],
      ["--type=json", `--patch=[{"op":"add","path":"/spec/data/password","value":"${canary}"}]`],
    ]) {
      const { code, stderr } = await asAlice([
        "--namespace",
        namespace,
        "patch",
        "sharedsecret",
        "patched",
        ...patch,
      ]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(
          'The SharedSecret "patched" is invalid: spec.data.password: must be base64',
        ),
      ]);
      expect(stderr).not.toContain(canary);
    }
    const { code } = await asAlice([
      "--namespace",
      namespace,
      "label",
      "sharedsecret",
      "patched",
      "a=b",
    ]);
    expect(code).toBe(0);
  });

  it.each<[string, unknown, string]>([
    [
      "wrapped, as printed by `base64`",
      `${"QUFB".repeat(19)}\n${"QUFB".repeat(4)}\n`,
      "spec.data.value: must be base64 without line breaks",
    ],
    ["URL-safe", "__--", "spec.data.value: must be base64"],
    ["without padding", "QQ", "spec.data.value: must be base64"],
    ["a number", 314159265358, "spec.data.value: must be a base64-encoded string; quote it"],
    ["a list", [canary], "spec.data.value: must be a base64-encoded string; quote it"],
  ])("is rejected with how to write it: %s", async (_what, value, says) => {
    const answer = await create({ value });
    expect(answer).toMatchObject({
      code: 422,
      reason: "Invalid",
      message: expect.stringContaining(says),
    });
    expect(JSON.stringify(answer)).not.toMatch(/canary|QUFB|314159/);
  });

  it("does not appear in the log of the webhook", async () => {
    await create({ value: canary });
    const log = readFileSync(inject("webhook")?.log ?? "", "utf8");
    expect(log).toContain("started");
    expect(log).not.toContain(canary);
  });
});

describe.skipIf(inject("webhook") === undefined)("the requests that the webhook receives", () => {
  const mebibyte = 1024 * 1024;
  let recorder: AdmissionRecorder;

  beforeAll(async () => {
    recorder = await recordAdmission(controlPlane, webhookName, namespace);
    await becomesAsked(recorder, "provoked", () => create({ value: canary }, "provoked"));
  });
  afterAll(() => recorder.stop());

  it.each<[string, () => unknown]>([
    ["good", () => ({ password: base64("good"), empty: "", "tls.key": base64("key\n") })],
    ["none", () => undefined],
    ["large", () => ({ big: randomBytes(mebibyte).toString("base64") })],
  ])("contain no SharedSecret whose data is base64: %s", async (name, data) => {
    const path = sharedSecretPath(namespace);
    const body = JSON.parse(manifest(data(), name));
    expect(await as(alice).create(path, body)).toMatchObject({ code: 201 });
    expect(
      await as(alice).merge(`${path}/${name}`, {
        spec: { description: "changed", data: { more: base64("more") } },
      }),
    ).toMatchObject({ code: 200 });
    expect(recorder.names).not.toContain(name);
  });

  it("contain an invalid value of any size that can be stored", async () => {
    const big = `${randomBytes(mebibyte).toString("base64").slice(0, -1)}!`;
    const answer = await create({ big }, "large-wrong");
    expect(answer).toMatchObject({ code: 422, message: expect.stringContaining("spec.data.big") });
    expect(answer.message.length).toBeLessThan(2_000);
    expect(recorder.names).toContain("large-wrong");
  });
});
