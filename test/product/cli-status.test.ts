import { beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { api, unique } from "../support/policy-request.ts";
import { runCli } from "../support/run-cli.ts";

const [namespace, target, project] = ["cli-status", "cli-target", "cli-project"].map(unique);

describe.skipIf(inject("cli") === undefined)("kubectl latchkey status", () => {
  const path = `/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`;
  const whatBobSees = { sharedSecrets: [{ well: true, desired: 1, synced: 1 }] };
  const status = async (user = "admin") =>
    runCli(["status", "-n", namespace ?? "", "-o", "json"], { user });
  beforeAll(async () => {
    const create = (name: string | undefined, metadata: object = {}) =>
      api.create("/api/v1/namespaces", { metadata: { name, ...metadata } });
    await create(namespace);
    await create(target, {
      labels: { "management.service/project": project },
      annotations: { "management.service/sync": "enabled" },
    });
    const metadata = {
      name: "shared",
      annotations: { "management.service/sync-to-projects": project },
    };
    const spec = { data: { a: "c2VjcmV0dmFsdWU=" }, access: [{ verbs: ["get"], users: ["bob"] }] };
    const kinds = { apiVersion: "management.service/v1", kind: "SharedSecret" };
    await api.create(path, { ...kinds, metadata, spec });
    const isSynced = async () => (await status()).stdout.includes(`"${target}/shared"`);
    await eventually(isSynced, { what: "the copy" });
    const seesIt = async () => {
      expect(JSON.parse((await status("bob")).stdout)).toMatchObject(whatBobSees);
      return true;
    };
    await eventually(seesIt, { what: "bob's grant, and the status of the SharedSecret" });
  });

  it("shows sources with their copies and no data", async () => {
    const { stdout } = await runCli(["status", "-n", namespace ?? ""]);
    expect(stdout).toContain(`└─ ${target}/shared`);
    expect(stdout).not.toContain("secretvalue");
    const { stdout: json } = await status();
    expect(JSON.parse(json)).toMatchObject({
      sharedSecrets: [{ well: true, desired: 1, synced: 1, targets: [`${target}/shared`] }],
    });
  });

  it("counts copies for bob, who may not list Secrets, and says so", async () => {
    const { code, stdout, stderr } = await status("bob");
    // 3 if another test has left a key of bob that is not well.
    expect([0, 3]).toContain(code);
    expect(JSON.parse(stdout)).toMatchObject(whatBobSees);
    expect(stderr).toContain("you may not list Secrets in all namespaces");
  });

  it("exits with 3 for an access rule that is not valid", async () => {
    const name = unique("wrong");
    const spec = { access: [{ verbs: ["create"], users: ["bob"] }] };
    const kinds = { apiVersion: "management.service/v1", kind: "SharedSecret" };
    await api.create(path, { ...kinds, metadata: { name }, spec });
    const seen = async () => {
      const result = await status();
      return result.stdout.includes("InvalidAccessRule") && result;
    };
    expect(await eventually(seen, { what: "the condition" })).toMatchObject({ code: 3 });
    await api.delete(`${path}/${name}`);
  });

  it("refresh-now sets the annotation with the right patch", async () => {
    const refresh = ["refresh-now", "shared", "-n", namespace ?? ""];
    expect((await runCli(refresh)).code).toBe(0);
    const { metadata } = await api.get(`${path}/shared`);
    expect(metadata.annotations).toMatchObject({
      "management.service/refresh-now": expect.stringMatching(/^\d{4}-/),
    });
    expect(await runCli(refresh, { user: "bob" })).toMatchObject({ code: 5 });
  });

  it("trust-config and rotate-signing-key are those of latchkey", async () => {
    const trust = await runCli(["trust-config", "--authorization", "--webhook-url=https://a"]);
    expect(trust).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("kind: AuthorizationConfiguration"),
    });
    expect((await runCli(["trust-config"])).code).toBe(2);
    const refused = await runCli(["rotate-signing-key"], { user: "bob" });
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining("cannot get") });
    const rotated = await runCli(["rotate-signing-key"]);
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining("equested") });
  });
});
