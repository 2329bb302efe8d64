import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { api, unique } from "../support/policy-request.ts";
import { cliEnvironment, cliForm, runCli } from "../support/run-cli.ts";

const namespace = unique("cli-edit");
const path = `/apis/management.service/v1/namespaces/${namespace}/sharedsecrets`;

describe.skipIf(inject("cli") === undefined)("kubectl latchkey edit", () => {
  const directory = mkdtempSync(join(tmpdir(), "cli-edit-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  beforeAll(async () => {
    const metadata = { name: namespace };
    await api.create("/api/v1/namespaces", { metadata });
  });

  /** A SharedSecret, an editor of these lines, and an empty directory for temporary files. */
  async function prepared(script: string) {
    const name = unique("edited");
    const kinds = { apiVersion: "management.service/v1", kind: "SharedSecret" };
    const spec = { data: { a: "b25l", b: "dHdv" } };
    await api.create(path, { ...kinds, metadata: { name }, spec });
    const editor = join(directory, `${name}.sh`);
    writeFileSync(editor, `#!/bin/sh\n${script}\n`);
    chmodSync(editor, 0o755);
    const temporary = mkdtempSync(join(directory, "runtime-"));
    const env = { EDITOR: editor, XDG_RUNTIME_DIR: temporary };
    const edit = () => runCli(["edit", name, "-n", namespace], { env });
    const value = async (key: string) => (await runCli(["get", name, key, "-n", namespace])).stdout;
    return { name, env, temporary, edit, value };
  }

  it("stores what changed, and removes its file", async () => {
    const modes = join(directory, "modes");
    const { edit, value, temporary } = await prepared(
      `stat -c %a "$1" "$(dirname "$1")" > ${modes}\nsed -i 's/a: one/a: three/' "$1"`,
    );
    const stdout = expect.stringMatching(/^sharedsecret\/\S+ edited\n$/);
    expect(await edit()).toMatchObject({ code: 0, stdout });
    expect([await value("a"), await value("b")]).toEqual(["three", "two"]);
    expect(readFileSync(modes, "utf8")).toBe("600\n700\n");
    expect(readdirSync(temporary)).toEqual([]);
  });

  it.each([
    ["true", 0, " unchanged\n"],
    [': > "$1"', 0, " unchanged\n"],
    ["exit 7", 1, "the editor failed with exit code 7"],
  ])("the editor %j changes nothing", async (script, code, sentence) => {
    const { edit, value, temporary } = await prepared(script);
    const ended = await edit();
    expect([ended.code, ended.stdout + ended.stderr]).toEqual([
      code,
      expect.stringContaining(sentence),
    ]);
    expect(await value("a")).toBe("one");
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("opens again for an invalid text, and shows no value in the error", async () => {
    const { edit, value } = await prepared(
      `grep -q "Not stored" "$1" && exec sed -i 's/a: 7/a: seven/' "$1"\nsed -i 's/a: one/a: 7/' "$1"`,
    );
    const { code, stderr } = await edit();
    expect([code, stderr]).toEqual([0, expect.stringContaining("the value of a must be text")]);
    expect(await value("a")).toBe("seven");
  });

  it.each([
    ["another key", "b", "ours", "theirs", 1],
    ["the same key, after a look at it", "a", "ours", "two", 2],
  ])("keeps a change of %s by another user", async (_what, key, a, b, opened) => {
    const count = join(directory, unique("count"));
    const started = join(directory, unique("started"));
    const { name, edit, value } = await prepared(
      `echo x >> ${count}\nsed -i 's/a: one/a: ours/' "$1"\n[ $(wc -l < ${count}) = 1 ] && { touch ${started}; while [ -e ${started} ]; do sleep 0.1; done; }; true`,
    );
    const editing = edit();
    await eventually(() => readdirSync(directory).some((file) => started.endsWith(file)), {
      what: "the editor",
    });
    const body = { spec: { data: { [key]: Buffer.from("theirs").toString("base64") } } };
    await api.merge(`${path}/${name}`, body);
    rmSync(started);
    expect((await editing).code).toBe(0);
    expect([await value("a"), await value("b")]).toEqual([a, b]);
    expect(readFileSync(count, "utf8")).toHaveLength(2 * opened);
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGQUIT", 131],
  ] as const)("removes its file on %s", async (signal, expected) => {
    const { name, env, temporary } = await prepared("exec sleep 600");
    const [command = "", ...words] = cliForm().words;
    const child = spawn(command, [...words, "edit", name, "-n", namespace], {
      env: cliEnvironment({ env }),
      stdio: "ignore",
    });
    const exited = once(child, "exit");
    await eventually(() => readdirSync(temporary).length > 0, { what: "the file" });
    await eventually(
      () => readdirSync(join(temporary, readdirSync(temporary)[0] ?? "")).length > 0,
      { what: "the values" },
    );
    // The handler of the signal is there before the editor starts.
    await new Promise((resolve) => setTimeout(resolve, 500));
    child.kill(signal);
    const [code] = await exited;
    expect(code).toBe(expected);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("removes what a killed run left behind, and nothing of another machine or a running one", async () => {
    const { edit, temporary } = await prepared("true");
    const ended = spawnSync("true").pid;
    const names = [
      `latchkey-edit-${hostname()}-${ended}-aaaaaa`,
      `latchkey-edit-${hostname()}-${process.pid}-aaaaaa`,
      `latchkey-edit-other-host-${ended}-aaaaaa`,
      "latchkey-other",
    ];
    for (const left of names) {
      mkdirSync(join(temporary, left));
      writeFileSync(join(temporary, left, "values.yaml"), "a: secret");
    }
    expect((await edit()).code).toBe(0);
    expect(readdirSync(temporary).toSorted()).toEqual(names.slice(1).toSorted());
  });
});
