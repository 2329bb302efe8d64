import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { skippedFor } from "../support/skipped.ts";

const repository = join(import.meta.dirname, "..", "..");
const directory = mkdtempSync(join(tmpdir(), "latchkey-main-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** The output of a Latchkey process, and the files and packages that it loaded. */
interface Exit {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly loaded: readonly string[];
}

const moduleText = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

/** Records each resolved file of src or package, and prints them to standard error at exit. */
const recordLoads = moduleText(`
  import { registerHooks } from "node:module";
  const loaded = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const [, name, file] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)|\\/(src\\/.*)/.exec(resolved.url) ?? [];
      loaded.add(name ?? file ?? "node");
      return resolved;
    },
  });
  process.on("exit", () => process.stderr.write("loaded:" + JSON.stringify([...loaded].filter((name) => name !== "node"))));
`);

/** Makes the process report this Node version. */
const pretendNode = (node: string): string =>
  moduleText(
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${node}" } });`,
  );

async function latchkey(
  argv: readonly string[],
  {
    env = {},
    imports = [],
  }: { readonly env?: Record<string, string>; readonly imports?: readonly string[] } = {},
): Promise<Exit> {
  const flags = [recordLoads, ...imports].map((url) => `--import=${url}`);
  const program = join(repository, "src", "main.ts");
  const child = spawn(process.execPath, [...flags, program, ...argv], { env });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on("exit", resolve)),
  ]);
  const [said = "", loaded = "[]"] = stderr.split("loaded:");
  const names: unknown = JSON.parse(loaded);
  return { code, stdout, stderr: said, loaded: Array.isArray(names) ? names.map(String) : [] };
}

describe("an invalid command line prints one sentence and exits with 2", () => {
  test.each(["controler", "controller --nmespace=a", "controller --workers=0", "controller"])(
    "latchkey %s",
    async (line) => {
      const { code, stdout, stderr } = await latchkey(line.split(" "));
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/^latchkey: [^\n]+\n$/);
    },
  );

  test("latchkey on a Node version that is too old", async () => {
    const { code, stderr, loaded } = await latchkey(["controller"], {
      imports: [pretendNode("20.20.2")],
    });
    expect([code, stderr]).toEqual([
      2,
      "latchkey: Node.js 20.20.2 is too old; run Latchkey with Node.js 24 or later\n",
    ]);
    expect(
      loaded.filter((name) =>
        /^src\/controllers\/(?!controller-options|cluster-agent-options)/.test(name),
      ),
    ).toEqual([]);
  });
});

test("latchkey cluster-agent sends no file of its own to the central cluster", async () => {
  const [local, central] = [join(directory, "local"), join(directory, "central")];
  const cluster = { url: "http://127.0.0.1:1", certificateAuthority: "" };
  writeKubeconfig(local, cluster, { agent: { token: "local" } });
  writeKubeconfig(central, cluster, { agent: { tokenFile: local } });
  const { code, stderr } = await latchkey(
    ["cluster-agent", "--cluster-name=east", `--central-kubeconfig=${central}`],
    { env: { KUBECONFIG: local } },
  );
  expect([code, stderr]).toEqual([2, expect.stringContaining("names a program or a file")]);
});

describe("a process loads only what it needs", () => {
  test.each(["--help", "--version", "controller --help", "webhook -h"])(
    "latchkey %s loads only the command line and the tables of options",
    async (line) => {
      const { code, loaded } = await latchkey(line.split(" "));
      expect(code).toBe(0);
      expect(loaded).toContain("src/cli/server-program.ts");
      expect(
        loaded.filter(
          (name) =>
            !/^src\/(?:main\.ts|cli\/|runtime\/|\w+\/[\w-]+-options\.ts|kube\/(?:credentials\/credentials|client\/kube-error)\.ts)/.test(
              name,
            ),
        ),
      ).toEqual(["@stricli/core"]);
    },
  );

  // In a real pod the processes would find a token and start.
  const isPod = existsSync("/var/run/secrets/kubernetes.io/serviceaccount");
  test.each(["controller", "webhook"])(
    "latchkey %s in a pod does not load what reads kubeconfigs",
    skippedFor(isPod ? "the tests run in a pod" : undefined),
    async (line) => {
      const env = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" };
      const { code, stderr, loaded } = await latchkey(line.split(" "), { env });
      expect([code, stderr]).toEqual([2, expect.stringContaining("ServiceAccount file ")]);
      expect(loaded).toContain("undici");
      expect(loaded).not.toContain("src/kube/credentials/kubeconfig.ts");
    },
  );
});
