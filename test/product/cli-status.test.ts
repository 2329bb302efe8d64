import { beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { api, unique } from "../support/policy-request.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { reportProblems } from "../support/report-shape.ts";
import { type CliResult, runCli } from "../support/run-cli.ts";

const [namespace, target, project] = ["cli-status", "cli-target", "cli-project"].map(unique);

describe.skipIf(inject("cli") === undefined)("kubectl latchkey status", () => {
  const path = `/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`;
  const shared = { kind: "SharedSecret", namespace, name: "shared" };
  const copy = { kind: "Secret", namespace: target, name: "shared" };
  const itemsOf = ({ stdout }: CliResult) => {
    const report: unknown = JSON.parse(stdout);
    expect(reportProblems(report, "status")).toEqual([]);
    return listAt(report, "items");
  };
  const whatBobSees = [
    expect.objectContaining({ object: shared, state: "ok", reason: "Ready" }),
    expect.objectContaining({ object: { kind: "Secret" }, state: "unknown", reason: "Forbidden" }),
  ];
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
    const isSynced = async () =>
      itemsOf(await status()).some(
        (item) => stringAt(recordAt(item, "object"), "namespace") === target,
      );
    await eventually(isSynced, { what: "the copy" });
    const seesIt = async () => {
      expect(itemsOf(await status("bob"))).toEqual(expect.arrayContaining(whatBobSees));
      return true;
    };
    await eventually(seesIt, { what: "bob's grant, and the status of the SharedSecret" });
  });

  it("shows sources with their copies and no data", async () => {
    const { stdout } = await runCli(["status", "-n", namespace ?? ""]);
    expect(stdout).toContain(`└─ ${target}/shared`);
    expect(stdout).not.toContain("secretvalue");
    expect(itemsOf(await status())).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ object: shared, state: "ok", reason: "Ready" }),
        expect.objectContaining({ object: copy, source: shared, reason: "CopyFound" }),
      ]),
    );
  });

  it("says what bob, who may not list Secrets, does not see", async () => {
    const result = await status("bob");
    // 3 if another test has left a key of bob that is not well.
    expect([0, 3]).toContain(result.code);
    expect(itemsOf(result)).toEqual(expect.arrayContaining(whatBobSees));
    expect(result.stdout).toContain("You may not list Secrets in all namespaces");
    expect(result.stderr).toBe("");
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

  it("refresh-now waits until the controller has read every copy, with the right patch", async () => {
    const refresh = ["refresh-now", "shared", "-n", namespace ?? ""];
    expect(await runCli(refresh)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^sharedsecret\/shared refreshed: \d of \d targets synced/),
      stderr: "",
    });
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
