import { readFileSync } from "node:fs";
import { dirname, join, matchesGlob } from "node:path";
import { describe, expect, test } from "vitest";
import { recordAt, stringsAt } from "../../src/api/parse.ts";
import config from "../../vitest.config.ts";
import {
  exportedNames,
  importedBy,
  type SourceFile,
  sourceFile,
  sourceFiles,
  typeScriptIn,
} from "./source-files.ts";

const widest = 100;
const junkDrawers = [
  "index",
  "utils",
  "util",
  "helpers",
  "helper",
  "common",
  "types",
  "lib",
  "misc",
];
const mirrored = [
  "api",
  "domain",
  "tokens",
  "kube",
  "runtime",
  "policies",
  "authn",
  "certificates",
  "published",
  "controllers",
  "webhooks",
  "gateway",
  "cli",
  "client",
];

/**
 * Keys of labels and annotations that are used outside of the table of names, and what they are.
 */
const otherKeys = [
  // The audience of direct tokens, an option.
  "authn/token-options.ts: management.service/direct",
  // The reporter of Events.
  "controllers/assemble.ts: ${group}/latchkey",
  "controllers/cluster-agent/agent-controller.ts: ${group}/latchkey",
  "webhooks/assemble.ts: ${group}/latchkey",
  "gateway/run-gateway.ts: ${group}/latchkey",
];

describe("files of src", () => {
  test("have descriptive names", () => {
    expect(sourceFiles.map(({ path }) => path).filter(isJunkDrawer)).toEqual([]);
    expect(isJunkDrawer("kube/utils.ts")).toBe(true);
  });

  test("describe each export in a doc comment", () => {
    expect(sourceFiles.flatMap(undocumented)).toEqual([]);
    expect(
      undocumented(sourceFile("domain/breach.ts", "const a = 1;\nexport const b = 2;\n")),
    ).toHaveLength(1);
  });

  test("export only what another file imports", () => {
    const [ours, ...others] = ["src", "test", "release"].map((directory) =>
      typeScriptIn(`${directory}/`).map((path) => fileIn(directory, path)),
    );
    const imported = new Set([
      ...(ours ?? []).flatMap((file) => importedBy(file, "")),
      ...others.flat().flatMap((file) => importedBy(file, "../src/")),
    ]);
    expect(imported.size).toBeGreaterThan(500);
    const unused = (file: SourceFile) =>
      exportedNames(file).filter((name) => !imported.has(name) && !imported.has(`${file.path}#*`));
    expect(sourceFiles.flatMap(unused)).toEqual([]);
    expect(unused(sourceFile("domain/breach.ts", "export const a = 1;"))).toHaveLength(1);
  });

  test(`have lines of at most ${widest} columns`, () => {
    const wide = ({ path, text }: SourceFile) =>
      text
        .split("\n")
        .flatMap((line, index) => (line.length > widest ? [`${path}:${index + 1}`] : []));
    expect(sourceFiles.flatMap(wide)).toEqual([]);
    expect(wide(sourceFile("domain/breach.ts", "-".repeat(widest + 1)))).toHaveLength(1);
  });

  test("take the keys of labels and annotations from the table of names", () => {
    const others = sourceFiles.filter(({ path }) => path !== "api/names.ts");
    expect(others.flatMap(keysIn)).toEqual(expect.arrayContaining(otherKeys));
    expect(others.flatMap(keysIn).filter((key) => !otherKeys.includes(key))).toEqual([]);
    expect(
      keysIn(sourceFile("domain/breach.ts", 'const key = "management.service/breach";')),
    ).toHaveLength(1);
  });
});

describe("files of release", () => {
  const files = typeScriptIn("release/").map((path) => fileIn("release", path));

  test("have descriptive names", () => {
    expect(files.length).toBeGreaterThan(5);
    expect(files.map(({ path }) => path).filter(isJunkDrawer)).toEqual([]);
  });

  test("describe each export in a doc comment", () => {
    expect(files.flatMap(undocumented)).toEqual([]);
  });
});

describe("files of test", () => {
  const tests = typeScriptIn("test/");

  test("have descriptive names", () => {
    expect(tests.filter(isJunkDrawer)).toEqual([]);
  });

  test("belong to exactly one vitest project, and those of the client also to that of its program", () => {
    const projects = (config.test?.projects ?? []).map((project) => {
      const { name, include } = recordAt(project, "test");
      return { name: String(name), include: stringsAt({ include }, "include") };
    });
    const projectsOf = (path: string) =>
      projects
        .filter(({ include }) => include.some((glob) => matchesGlob(path, glob)))
        .map(({ name }) => name);
    const placed = tests
      .filter((path) => path.endsWith(".test.ts"))
      .map((path) => ({ path, projects: projectsOf(`test/${path}`) }));
    expect(placed).not.toEqual([]);
    const ofClient = ({ path }: { readonly path: string }) => path.startsWith("product/cli-");
    const [client, others] = [placed.filter(ofClient), placed.filter((file) => !ofClient(file))];
    expect(others.filter(({ projects: found }) => found.length !== 1)).toEqual([]);
    expect(
      client.filter(({ projects: found }) => found.join() !== "product-keys,verify-program"),
    ).toEqual([]);
    expect(client).not.toEqual([]);
    expect(projectsOf("test/elsewhere/some.test.ts")).toEqual([]);
  });

  test("are part of make test unless their directory is that of a project of make verify", () => {
    const runner = readFileSync(join(import.meta.dirname, "..", "run", "main.ts"), "utf8");
    expect(runner).toContain('"--project=!verify*"');
    const verified = (config.test?.projects ?? [])
      .map((project) => recordAt(project, "test"))
      .filter(({ name }) => String(name).startsWith("verify"))
      .map(({ name, include }) => [name, stringsAt({ include }, "include")]);
    expect(verified).toEqual([
      ["verify", ["test/verify/*.test.ts"]],
      ["verify-alone", ["test/verify/alone/*.test.ts"]],
      ["verify-journeys", ["test/journeys/**/*.test.ts"]],
      ["verify-faults", ["test/faults/**/*.test.ts"]],
      ["verify-program", ["test/program/*.test.ts", "test/product/cli-*.test.ts"]],
    ]);
  });

  test("are in projects that run at the same time only with as many workers", () => {
    const workers = new Map<unknown, Set<unknown>>();
    for (const project of config.test?.projects ?? []) {
      const { maxWorkers, sequence } = recordAt(project, "test");
      const group = recordAt({ sequence }, "sequence").groupOrder ?? 0;
      workers.set(group, (workers.get(group) ?? new Set()).add(maxWorkers));
    }
    expect([...workers.values()].map(({ size }) => size)).toEqual([1, 1, 1]);
  });

  test("are beside the file that they test, if they do not mirror src", () => {
    const beside = tests.filter((path) => /^(?:run|support|soak)\/.*\.test\.ts$/.test(path));
    expect(beside).not.toEqual([]);
    expect(beside.filter((path) => !tests.includes(path.replace(/\.test\.ts$/, ".ts")))).toEqual(
      [],
    );
  });

  test("in support import nothing from other directories of test", () => {
    const others = tests
      .filter((path) => path.startsWith("support/"))
      .map(testFile)
      .flatMap(({ path, imports }) =>
        imports.flatMap((found) =>
          found.kind === "ours" && !/^(?:support|\.\.\/src|\.\.\/crds)\//.test(found.path)
            ? [`${path} imports ${found.path}`]
            : [],
        ),
      );
    expect(others).toEqual([]);
  });

  test("are named like the file of src that they test, or import several files of its directory", () => {
    const pure = tests.filter(
      (path) => path.endsWith(".test.ts") && mirrored.some((room) => path.startsWith(`${room}/`)),
    );
    expect(pure.length).toBeGreaterThan(0);
    expect(pure.map(testFile).flatMap(withoutMirror)).toEqual([]);
    const other = (...names: readonly string[]) =>
      sourceFile(
        "kube/other.test.ts",
        names.map((name) => `import "../../src/${name}.ts";\n`).join(""),
      );
    expect(withoutMirror(other("kube/store", "kube/watch"))).toEqual([]);
    expect(withoutMirror(other("kube/store", "api/names"))).toEqual(["kube/other.test.ts"]);
  });
});

function testFile(path: string): SourceFile {
  return fileIn("test", path);
}

function fileIn(directory: string, path: string): SourceFile {
  return sourceFile(
    path,
    readFileSync(join(import.meta.dirname, "../..", directory, path), "utf8"),
  );
}

/** The path of a test that neither has the name of a file of src nor imports two of its directory. */
function withoutMirror({ path, imports }: SourceFile): readonly string[] {
  const named = path.replace(/(\.[a-z]+)?\.test\.ts$/, ".ts");
  const beside = imports.filter(
    (found) => found.kind === "ours" && dirname(found.path) === `../src/${dirname(path)}`,
  );
  const isNamed = sourceFiles.some((file) => file.path === named);
  return isNamed || beside.length > 1 ? [] : [path];
}

function isJunkDrawer(path: string): boolean {
  const names = path.replace(/(?:\.test)?\.ts$/, "").split("/");
  return names.some((name) => junkDrawers.includes(name));
}

function undocumented({ path, text }: SourceFile): readonly string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    const isExport = /^export (?!\{|\* from)/.test(line);
    return isExport && !(lines[index - 1] ?? "").trimEnd().endsWith("*/")
      ? [`${path}:${index + 1}: ${line}`]
      : [];
  });
}

function keysIn({ path, text }: SourceFile): readonly string[] {
  const withoutComments = text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
  const keys = withoutComments.matchAll(
    /["'`]((?:management\.service|\$\{group\})\/[^"'`]*)["'`]/g,
  );
  return [...keys].map((match) => `${path}: ${match[1] ?? ""}`);
}
