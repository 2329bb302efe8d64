import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { arrange, unique } from "../support/policy-request.ts";
import { runCli } from "../support/run-cli.ts";

const digest = /^sha256:[0-9a-f]{16}\.[0-9a-f]{64}$/;

describe.skipIf(inject("cli") === undefined)("kubectl latchkey keys", () => {
  const directory = mkdtempSync(join(tmpdir(), "cli-keys-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  beforeAll(() => allowRequesters("devs"));
  const stored = async (name: string) =>
    recordAt(
      await arrange({
        method: "GET",
        path: `/apis/management.service/v1/ownedaccesskeys/${name}`,
      }),
      "spec",
    );

  it("create prints the key once and stores a bound digest", async () => {
    const name = unique("made");
    const file = join(directory, name);
    const args = ["keys", "create", name, "--ttl=1h", "--project=web", `--output-file=${file}`];
    const made = await runCli(args, { user: "bob" });
    expect(made).toMatchObject({ code: 0, stdout: "" });
    expect(made.stderr).toContain(`OwnedAccessKey "${name}": Active`);
    const key = readFileSync(file, "utf8");
    expect(key).toMatch(/^lk_\w+\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await stored(name)).toMatchObject({
      user: "bob",
      ttl: 3600,
      scope: { projects: [{ project: "web" }] },
      key: expect.stringMatching(digest),
    });
    const again = await runCli(args, { user: "bob" });
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("already exists") });
    const tested = await runCli(["keys", "test"], { input: key });
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining("Username: bob\n") });
  });

  it("create removes the file where the API server refuses the key", async () => {
    const name = unique("refused");
    const file = join(directory, name);
    const args = ["keys", "create", name, "--user=alice", `--output-file=${file}`];
    const { code, stderr } = await runCli(args, { user: "bob" });
    expect([code, stderr]).toEqual([1, expect.stringContaining("requires the verb impersonate")]);
    expect(() => statSync(file)).toThrow("ENOENT");
  });

  it("list and describe show bob his keys, and no key", async () => {
    const name = unique("shown");
    const { stdout: key } = await runCli(["keys", "create", name], { user: "bob" });
    for (const output of [[], ["-o", "json"], ["-o", "yaml"], ["-o", "name"]]) {
      const { stdout } = await runCli(["keys", "list", ...output], { user: "bob" });
      expect(stdout).toContain(name);
      expect(stdout).not.toMatch(/sha256:|lk_/);
    }
    const described = await runCli(["keys", "describe", name], { user: "bob" });
    expect(described.stdout).toMatch(/^Requester: +bob$/m);
    expect(described.stdout).not.toContain(key.trim());
    const foreign = await runCli(["keys", "describe", name], { user: "alice" });
    expect(foreign).toMatchObject({ code: 5, stderr: expect.stringContaining("cannot get") });
  });

  it("disable, enable and delete change what the key may do", async () => {
    const name = unique("switched");
    const { stdout: key } = await runCli(["keys", "create", name, "--user=alice"]);
    const isAccepted = async () => (await runCli(["keys", "test"], { input: key })).code === 0;
    expect(await isAccepted()).toBe(true);
    expect((await runCli(["keys", "disable", name])).code).toBe(0);
    await eventually(async () => !(await isAccepted()), { what: "the key to be refused" });
    expect((await runCli(["keys", "enable", name])).code).toBe(0);
    await eventually(isAccepted, { what: "the key to be accepted" });
    expect((await runCli(["keys", "delete", name])).stderr).toContain("is deleted");
    expect((await runCli(["keys", "describe", name])).code).toBe(4);
  });

  it("delete ends for a requester, whose grant ends before the object", async () => {
    const name = unique("own");
    await runCli(["keys", "create", name], { user: "bob" });
    const { code, stderr } = await runCli(["keys", "delete", name], { user: "bob" });
    expect([code, stderr]).toEqual([0, expect.stringContaining("is deleted")]);
  });

  it("rotate makes a successor, and ends the old key after the overlap", async () => {
    const name = unique("old");
    await runCli(["keys", "create", name, "--user=alice", "--project=web"]);
    const rotated = await runCli(["keys", "rotate", name, "--overlap=10m", "-o", "json"]);
    expect(rotated.code).toBe(0);
    const made: unknown = JSON.parse(rotated.stdout);
    const successor = String(recordAt({ made }, "made")["name"]);
    expect(successor).toMatch(new RegExp(`^${name}-r\\d{12}$`));
    expect(await stored(successor)).toMatchObject({
      user: "alice",
      scope: { projects: [{ project: "web" }] },
    });
    expect(await stored(name)).toMatchObject({ ttl: expect.any(Number) });
  });

  it("rotate tells a requester how to end the old key", async () => {
    const name = unique("kept");
    await runCli(["keys", "create", name], { user: "bob" });
    const { code, stderr } = await runCli(["keys", "rotate", name], { user: "bob" });
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`run: kubectl latchkey keys delete ${name}`),
    ]);
  });

  it("take-over makes the object that of the administrator", async () => {
    const name = unique("taken");
    await runCli(["keys", "create", name], { user: "bob" });
    const before = await stored(name);
    const { code, stdout, stderr } = await runCli(["keys", "take-over", name]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^lk_\w+\n$/)]);
    expect(stderr).toContain("warning: ");
    expect((await stored(name))["key"]).not.toBe(before["key"]);
    const described = await runCli(["keys", "describe", name]);
    expect(described.stdout).toMatch(/^Requester: +admin$/m);
  });

  it.each([
    ["", 2, "the input is not a key"],
    ["a b", 2, "the input is not a key"],
    ["unknown-key-0123456789", 1, "the server does not accept this key"],
  ])("test refuses %j", async (input, code, sentence) => {
    const result = await runCli(["keys", "test"], { input });
    expect(result).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(sentence) });
    expect(result.stderr).not.toContain("0123456789");
  });
});
