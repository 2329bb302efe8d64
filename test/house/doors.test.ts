import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { filesOfProgram, programs } from "./programs.ts";
import { roomOf, sourceFiles } from "./source-files.ts";

const contributing = readFileSync(new URL("../../CONTRIBUTING.md", import.meta.url), "utf8");

interface Door {
  readonly room: string;
  /** Other directories of src that its files may import. */
  readonly rooms: readonly string[];
  /** Single files of other directories: tables that import nothing of the program. */
  readonly tables?: readonly string[];
  readonly packages: readonly string[];
}

const inner = ["api", "domain", "tokens", "kube", "runtime"];

const doors: readonly Door[] = [
  { room: "api", rooms: [], packages: ["@kubernetes/client-node", "node:util"] },
  { room: "domain", rooms: ["api"], packages: ["node:crypto"] },
  {
    room: "tokens",
    rooms: ["api", "domain"],
    packages: [
      "@peculiar/x509",
      "jose",
      "node:crypto",
      "node:net",
      "node:zlib",
      "reflect-metadata",
    ],
  },
  {
    room: "runtime",
    rooms: [],
    packages: [
      "node:crypto",
      "node:fs",
      "node:http",
      "node:http2",
      "node:https",
      "node:net",
      "node:os",
      "node:path",
      "node:stream",
      "node:timers/promises",
      "node:tls",
      "node:util",
      "pino",
      "prom-client",
    ],
  },
  {
    room: "kube",
    rooms: ["api", "runtime"],
    packages: [
      "js-yaml",
      "node:child_process",
      "node:crypto",
      "node:events",
      "node:fs",
      "node:http",
      "node:https",
      "node:net",
      "node:path",
      "node:stream",
      "node:tls",
      "node:url",
      "undici",
    ],
  },
  { room: "policies", rooms: inner, packages: [] },
  { room: "authn", rooms: [...inner, "policies"], packages: ["js-yaml"] },
  {
    room: "certificates",
    rooms: inner,
    packages: ["node:fs/promises", "node:path"],
  },
  { room: "published", rooms: inner, packages: ["node:zlib"] },
  { room: "controllers", rooms: [...inner, "policies", "authn", "certificates"], packages: [] },
  {
    room: "webhooks",
    rooms: [...inner, "authn", "certificates", "published"],
    packages: ["fast-json-patch"],
  },
  {
    room: "gateway",
    rooms: [...inner, "policies", "authn", "certificates", "published"],
    packages: ["js-yaml", "node:crypto", "node:http", "node:stream"],
  },
  {
    room: "cli",
    rooms: ["kube", "runtime"],
    tables: [
      "authn/token-options.ts",
      "controllers/controller-options.ts",
      "controllers/cluster-agent-options.ts",
      "webhooks/webhook-options.ts",
      "gateway/gateway-options.ts",
      "gateway/direct-endpoint-options.ts",
    ],
    packages: ["@stricli/core"],
  },
  {
    room: "client",
    rooms: [...inner, "policies", "cli"],
    tables: [
      "authn/key-options.ts",
      "authn/token-options.ts",
      "controllers/controller-options.ts",
      "webhooks/webhook-options.ts",
    ],
    packages: [
      "js-yaml",
      "node:buffer",
      "node:child_process",
      "node:fs",
      "node:http",
      "node:os",
      "node:path",
      "node:readline",
      "node:tty",
      "node:util",
    ],
  },
  { room: "main.ts", rooms: [...inner, "controllers", "webhooks", "gateway", "cli"], packages: [] },
];

describe("a file imports only what its directory is allowed to import", () => {
  test.each(doors)("$room", ({ room, rooms, tables = [], packages }) => {
    const files = sourceFiles.filter(({ path }) => roomOf(path) === room);
    const trespasses = files.flatMap(({ path, imports }) =>
      imports
        .filter((found) =>
          found.kind === "ours"
            ? ![room, ...rooms].includes(roomOf(found.path)) && !tables.includes(found.path)
            : !packages.includes(found.name),
        )
        .map((found) => `${path} imports ${found.kind === "ours" ? found.path : found.name}`),
    );
    expect(files).not.toEqual([]);
    expect(trespasses).toEqual([]);
  });
});

describe("a program loads nothing of what is not its own", () => {
  test.each(programs)("$name", (program) => {
    const files = filesOfProgram(program, { types: false });
    expect(files).toContain(program.start);
    const of = (start: string) =>
      files.filter((path) => path.startsWith(start) && !path.endsWith("-options.ts"));
    expect(program.without.flatMap(of)).toEqual([]);
  });

  test("each start of a program is in the list", () => {
    const starts = sourceFiles.filter(({ path }) => /^\w+\/run-[\w-]+\.ts$/.test(path));
    const listed = programs.map(({ start }) => start);
    const unlisted = starts.map(({ path }) => path).filter((path) => !listed.includes(path));
    // What programs share.
    expect(unlisted).toEqual(["runtime/run-process.ts"]);
  });
});

test("the programs have no code of client-node, whose types api/wire.ts has", () => {
  const from = sourceFiles.filter(({ text }) => text.includes('"@kubernetes/client-node"'));
  expect(from.map(({ path }) => path)).toEqual(["api/wire.ts"]);
  expect(from[0]?.text).toMatch(/^import type \{[^}]*\} from "@kubernetes\/client-node";/);
});

test("every directory of src has allowed imports", () => {
  const rooms = new Set(sourceFiles.map(({ path }) => roomOf(path)));
  expect([...rooms].filter((room) => !doors.some((door) => door.room === room))).toEqual([]);
});

test("CONTRIBUTING.md says what each directory may import", () => {
  const [, table = ""] = contributing.split("| may import");
  const rows = table.split("\n\n")[0]?.matchAll(/^\| `([\w.]+)` +\| (.*) \|$/gm) ?? [];
  const said = [...rows].map(([, room = "", cell = ""]) => ({
    room,
    rooms: [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    tables: [...cell.matchAll(/`(\w+\/[\w.-]+)`/g)].map(([, path]) => path),
  }));
  expect(said).toEqual(doors.map(({ room, rooms, tables = [] }) => ({ room, rooms, tables })));
});

test("domain imports only createHash from node:crypto", () => {
  const lines = sourceFiles
    .filter(({ path }) => roomOf(path) === "domain")
    .flatMap(({ text }) => text.match(/^.*"node:crypto".*$/gm) ?? []);
  expect(new Set(lines)).toEqual(new Set(['import { createHash } from "node:crypto";']));
});

test("imports have no cycles", () => {
  const importsOf = new Map(
    sourceFiles.map(({ path, imports }) => [
      path,
      imports.flatMap((found) => (found.kind === "ours" ? [found.path] : [])),
    ]),
  );
  const settled = new Set<string>();
  const cycles: string[] = [];
  function visit(path: string, way: readonly string[]): void {
    if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(" -> "));
    if (way.includes(path) || settled.has(path)) return;
    for (const next of importsOf.get(path) ?? []) visit(next, [...way, path]);
    settled.add(path);
  }
  for (const path of importsOf.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});
