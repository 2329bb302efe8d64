import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { api, arrange, patchTypes, unique } from "../support/policy-request.ts";
import { type CliOptions, runCli } from "../support/run-cli.ts";

const namespace = unique("cli-values");
const password = 'p4ss\'w$rd "x"';

describe.skipIf(inject("cli") === undefined)("kubectl latchkey reads and writes values", () => {
  const directory = mkdtempSync(join(tmpdir(), "cli-values-"));
  const cli = (args: readonly string[], options: CliOptions = {}) =>
    runCli(["-n", namespace, ...args], options);
  afterAll(() => rmSync(directory, { recursive: true }));
  beforeAll(async () => {
    const path = "/api/v1/namespaces";
    await api.create(path, { metadata: { name: namespace } });
    await api.create(`/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`, {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      metadata: { name: "database" },
      spec: {
        data: {
          PASSWORD: Buffer.from(password).toString("base64"),
          "tls.key": "//4=",
          LD_PRELOAD: Buffer.from("/evil.so").toString("base64"),
        },
        access: [
          { verbs: ["get"], users: ["bob"] },
          { verbs: ["patch"], users: ["alice"] },
        ],
      },
    });
    const isGranted = async () =>
      (await cli(["get", "database", "PASSWORD"], { user: "bob" })).code === 0 &&
      (await cli(["set", "database", "USER=-"], { user: "alice", input: "u" })).code === 0;
    await eventually(isGranted, { what: "the grants" });
  });

  it("get prints one value byte for byte, also by NAME.KEY and through kubectl", async () => {
    const expected = { code: 0, stdout: password, stderr: "" };
    expect(await cli(["get", "database", "PASSWORD"], { user: "bob" })).toEqual(expected);
    expect(await cli(["get", "database.PASSWORD"], { user: "bob" })).toEqual(expected);
    const plugin = ["get", "database", "PASSWORD", "-n", namespace];
    expect(await runCli(plugin, { user: "bob", throughKubectl: true })).toEqual(expected);
  });

  it.each([
    [["get", "database"], 2, "has several data keys: LD_PRELOAD, PASSWORD,"],
    [["get", "database", "missing"], 4, `${namespace}/database" has no data key "missing"; it has`],
    [["get", "database", "missing", "-o", "json"], 4, 'has no data key "missing"'],
    [["get", "nothing"], 4, `"nothing" not found in namespace "${namespace}"`],
    [["set", "database", "a b=-"], 2, 'data key "a b"'],
    [["get"], 2, "argument NAME is missing"],
    [["get", "database", "a", "--all"], 2, "--all cannot be combined"],
  ])("%j fails in one sentence", async (args, code, sentence) => {
    const result = await cli(args);
    expect(result).toMatchObject({ code, stdout: "" });
    expect(result.stderr).toMatch(/^kubectl latchkey: [^\n]+\n$/);
    expect(result.stderr).toContain(sentence);
  });

  it("get prints several values as json, with base64 for what is no text", async () => {
    const { stdout } = await cli(["get", "database", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ PASSWORD: password, "tls.key.base64": "//4=" });
  });

  it("get writes files that only their owner can read", async () => {
    const output = join(directory, "files");
    const { code, stdout } = await cli(["get", "database", `--output-directory=${output}`]);
    expect([code, stdout]).toEqual([0, ""]);
    expect(statSync(output).mode & 0o777).toBe(0o700);
    expect(statSync(join(output, "tls.key")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(output, "tls.key"))).toEqual(Buffer.from([0xff, 0xfe]));
  });

  it("names the missing right of alice, who may patch alone", async () => {
    const { code, stderr } = await cli(["get", "database"], { user: "alice" });
    expect([code, stderr]).toEqual([5, expect.stringContaining('"alice" cannot get resource')]);
  });

  it("set changes values with the right patch alone, and bob may not", async () => {
    const file = join(directory, "value");
    writeFileSync(file, Buffer.from([0, 255, 10]));
    const args = ["set", "database", `file=@${file}`, "input=-"];
    expect(await cli(args, { user: "alice", input: "text\n" })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("the final newline of input is dropped"),
    });
    expect((await cli(["get", "database", "input"])).stdout).toBe("text");
    const empty = await cli(["set", "database", "input=-"], { user: "alice", input: "" });
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("input is empty")]);
    expect((await cli(["get", "database", "input"])).stdout).toBe("text");
    const shown: unknown = JSON.parse(
      (await cli(["get", "database", "file", "-o", "json"])).stdout,
    );
    expect(shown).toEqual({ "file.base64": "AP8K" });
    const refused = await cli(args, { user: "bob", input: "s3cret-input" });
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining("cannot patch") });
    expect(refused.stderr).not.toContain("s3cret-input");
  });

  it("set takes no value from the arguments", async () => {
    const { code, stderr } = await cli(["set", "database", "PASSWORD=s3cret"]);
    expect([code, stderr]).toEqual([2, expect.not.stringContaining("s3cret")]);
    expect((await cli(["get", "database", "PASSWORD"])).stdout).toBe(password);
  });

  it("set creates a SharedSecret, and a dry run changes nothing", async () => {
    const env = join(directory, "env");
    writeFileSync(env, "A=1\nB='two words'\n");
    const set = ["set", "fresh", `--from-env-file=${env}`];
    expect(await cli([...set, "--dry-run=server"])).toMatchObject({ code: 0 });
    expect((await cli(["get", "fresh"])).code).toBe(4);
    const created = await cli(set);
    expect(created.stdout).toBe("sharedsecret/fresh created with A, B\n");
    expect((await cli(["get", "fresh", "B"])).stdout).toBe("two words");
    expect((await cli(["unset", "fresh", "A"])).code).toBe(0);
    expect((await cli(["get", "fresh", "-o", "name"])).stdout).toBe("B\n");
    const refused = await cli(["set", "other", "A=-"], { user: "bob", input: "x" });
    expect(refused.code).toBe(5);
  });

  it("set changes the texts for people, alone or with values", async () => {
    const set = (...flags: readonly string[]) =>
      runCli(["set", "described", ...flags, "-n", namespace], { input: "x" });
    const specOf = async () =>
      (await api.get(`/apis/management.service/v1/namespaces/${namespace}/sharedsecrets/described`))
        .spec;
    expect(await set("a=-", "--display-name=Orders", "--description=")).toMatchObject({
      code: 0,
      stdout: "sharedsecret/described created with a, displayName, description\n",
      stderr: "",
    });
    expect(await specOf()).toEqual({ data: { a: "eA==" }, displayName: "Orders" });
    expect(await set("--description=of the shop")).toMatchObject({
      code: 0,
      stdout: "sharedsecret/described set description\n",
      stderr: "",
    });
    const described = { displayName: "Orders", description: "of the shop" };
    expect(await specOf()).toEqual({ data: { a: "eA==" }, ...described });
    await set("--display-name=", "--description=");
    expect(await specOf()).toEqual({ data: { a: "eA==" } });
    expect(await set()).toMatchObject({ code: 2, stderr: expect.stringContaining("set a text") });
  });

  it("set, unset and edit say who applies a value from files", async () => {
    const manifest = {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      metadata: { name: "applied" },
      spec: { data: { A: "MQ==", B: "Mg==", C: "dGhyZWU=" } },
    };
    await arrange({
      method: "PATCH",
      path: `/apis/management.service/v1/namespaces/${namespace}/sharedsecrets/applied?fieldManager=gitops`,
      body: manifest,
      type: patchTypes.apply,
    });
    const warned = (key: string) => ({
      code: 0,
      stderr: expect.stringContaining(`warning: field manager "gitops" applies ${key} from`),
    });
    const set = (input: string) => cli(["set", "applied", "A=-"], { input });
    expect(await set("new")).toMatchObject(warned("A"));
    expect((await set("newer")).stderr).not.toContain("gitops");
    expect(await cli(["unset", "applied", "B"])).toMatchObject(warned("B"));
    const env = { EDITOR: "sed -i 's/C: three/C: four/'" };
    expect(await cli(["edit", "applied"], { env })).toMatchObject(warned("C"));
  });

  it("delete deletes a SharedSecret of the namespace, and no other", async () => {
    for (const name of ["leaving", "staying"])
      await runCli(["set", name, "a=-", "-n", namespace], { input: "x" });
    const remove = (...args: readonly string[]) => runCli(["delete", ...args, "-n", namespace]);
    expect(await remove("leaving", "--dry-run=server")).toMatchObject({
      code: 0,
      stdout: "sharedsecret/leaving deleted (server dry run)\n",
      stderr: "",
    });
    expect(await remove("leaving")).toMatchObject({
      code: 0,
      stdout: "sharedsecret/leaving deleted\n",
      stderr: "",
    });
    expect((await remove("leaving")).code).toBe(4);
    const { stdout } = await runCli(["list", "-n", namespace, "-o", "name"]);
    expect(stdout).toContain("/staying\n");
    expect(stdout).not.toContain("/leaving\n");
  });

  it("run gives a program the values that its user names, and no other", async () => {
    const run = (...flags: readonly string[]) =>
      cli([
        ...["run", "database", ...flags, "--", "/bin/sh", "-c"],
        'printf "%s|%s|%s" "$PASSWORD" "$LD_PRELOAD" "$DB_PASSWORD"',
      ]);
    const refused = expect.stringMatching(/name the variables: --only=KEY .*--prefix=DB_ .*--all/);
    expect(await run()).toEqual({ code: 125, stdout: "", stderr: refused });
    expect(await run("--only=PASSWORD")).toEqual({ code: 0, stdout: `${password}||`, stderr: "" });
    const prefixed = await run("--prefix=DB_");
    expect([prefixed.code, prefixed.stdout]).toEqual([0, `||${password}`]);
    // The loader of the shell complains, too.
    const all = await run("--all");
    expect([all.code, all.stdout]).toEqual([0, `${password}|/evil.so|`]);
    expect(all.stderr.match(/who may write the SharedSecret chooses the names/g)).toHaveLength(1);
    expect(all.stderr).toMatch(/left out (?:file, )?tls\.key/);
  });

  it.each([
    [["run", "database", "--prefix=X_", "--", "/bin/sh", "-c", "exit 3"], 3],
    [["run", "database", "--prefix=X_", "--", "/bin/sh", "-c", "kill -9 $$"], 137],
    [["run", "database", "--prefix=X_", "--", "no-such-program"], 127],
    [["run", "database", "--prefix=X_", "--", "/etc/passwd"], 126],
    [["run", "nothing", "--all", "--", "true"], 125],
    [["run", "database", "--", "true"], 125],
    [["run", "database", "--nonsense", "--", "true"], 125],
    [["run", "database"], 125],
  ])("%j has its exit code", async (args, code) => {
    expect((await cli(args)).code).toBe(code);
  });
});
