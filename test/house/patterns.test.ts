import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { checkSync } from "recheck";
import recheckPackage from "recheck/package.json" with { type: "json" };
import { beforeAll, describe, expect, test, vi } from "vitest";
import { parseAst } from "vitest/node";
import { isRecord } from "../../src/api/parse.ts";
import { cacheRoot } from "../support/cached-build.ts";
import { roomOf, type SourceFile, sourceFile, sourceFiles } from "./source-files.ts";

interface Pattern {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

interface Constructor {
  readonly place: string;
  readonly isInFunction: boolean;
}

const literals = sourceFiles.flatMap(literalsOf);
const constructors = sourceFiles.flatMap(constructorsOf);
const rooms = [...new Set(sourceFiles.map(({ path }) => roomOf(path)))];

// The other backends are programs of a platform.
beforeAll(() => void vi.stubEnv("RECHECK_SYNC_BACKEND", "pure"));

describe("the time of a regular expression grows like the text", { timeout: 600_000 }, () => {
  test.each(rooms)("of each literal of %s", async (room) => {
    const own = literals.filter(({ place }) => roomOf(place) === room);
    expect(await slowOf(own)).toEqual([]);
  });

  test("of each that is put together of constant texts", async () => {
    const paths = [...new Set(constructors.map(({ place }) => place))];
    const constructed = await constructedIn(paths);
    expect(constructed.map(({ place }) => place).sort()).toEqual(
      constructors.map(({ place }) => place).sort(),
    );
    expect(await slowOf(constructed)).toEqual([]);
  });

  test("none is put together of a text that arrives later", () => {
    expect(constructors.filter(({ isInFunction }) => isInFunction)).toEqual([]);
  });
});

describe("finds", () => {
  test.each([
    ["slashes at the end", /\/+$/],
    ["blanks that belong to two parts", /^[a-z]+={0,2}\s*[a-z\s]*$/],
    ["repetition behind an assertion", /(?<!x)a+b/],
    ["lines that end in two ways", /^(?:(?:#[^\n]*|[ \t]*)\r?\n)*---/],
    ["one of many alternatives", /^(?:LD_.*|.*KEY.*|PATH)$/i],
  ])("%s", async (_, pattern) => {
    const file = sourceFile("domain/breach.ts", `use(1 / 2, ${pattern});`);
    expect(await slowOf(literalsOf(file))).toHaveLength(1);
  });

  test("a pattern that is put together in a function", () => {
    const file = sourceFile("domain/breach.ts", "const f = (t: string) => new RegExp(t);\n");
    expect(constructorsOf(file)).toEqual([{ place: "domain/breach.ts", isInFunction: true }]);
  });
});

/** Patterns that are not known to be safe, with what is known; waiting keeps the worker responsive. */
async function slowOf(patterns: readonly Pattern[]): Promise<readonly string[]> {
  const slow: string[] = [];
  for (const { place, source, flags } of patterns) {
    const proof = join(proofs, digestOf(flags, source));
    if (existsSync(proof)) continue;
    await setImmediate();
    const found = checkSync(source, flags, limits);
    if (found.status === "safe") {
      writeFileSync(proof, "");
      continue;
    }
    const why = found.status === "vulnerable" ? found.complexity.summary : found.error.kind;
    slow.push(`${place}: /${source}/${flags}: ${why}`);
  }
  return slow;
}

/**
 * Files by the digests of patterns that this version of recheck has found to be safe: all patterns
 * together take a minute.
 */
const proofs = join(cacheRoot(process.env), "safe-patterns", recheckPackage.version);
mkdirSync(proofs, { recursive: true });

function digestOf(flags: string, source: string): string {
  const judged = JSON.stringify([flags, source, limits]);
  return createHash("sha256").update(judged).digest("hex");
}

/** Steps are limited instead of time, so that a busy machine finds the same. */
const limits = {
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  maxPatternSize: 10_000,
};

function literalsOf({ path, text }: SourceFile): readonly Pattern[] {
  const found: Pattern[] = [];
  visit(parseAst(text, { lang: "ts" }), false, (node) => {
    if (!isRecord(node["regex"])) return;
    const { pattern, flags } = node["regex"];
    found.push({ place: path, source: String(pattern), flags: String(flags) });
  });
  return found;
}

function constructorsOf({ path, text }: SourceFile): readonly Constructor[] {
  const found: Constructor[] = [];
  visit(parseAst(text, { lang: "ts" }), false, ({ type, callee }, isInFunction) => {
    const isCall = type === "NewExpression" || type === "CallExpression";
    if (isCall && isRecord(callee) && callee["name"] === "RegExp")
      found.push({ place: path, isInFunction });
  });
  return found;
}

type Visitor = (node: Readonly<Record<string, unknown>>, isInFunction: boolean) => void;

function visit(node: unknown, isInFunction: boolean, visitor: Visitor): void {
  if (Array.isArray(node)) for (const item of node) visit(item, isInFunction, visitor);
  if (!isRecord(node)) return;
  visitor(node, isInFunction);
  const isInside = isInFunction || /Function/.test(String(node["type"]));
  for (const value of Object.values(node)) visit(value, isInside, visitor);
}

/** What the files construct when they are loaded once more. */
async function constructedIn(paths: readonly string[]): Promise<readonly Pattern[]> {
  const found: Pattern[] = [];
  let place = "";
  const recorded = new Proxy(RegExp, {
    construct(target, [source, flags]: [string | RegExp, string?]) {
      const pattern = new target(source, flags);
      const [, , caller = ""] = (new Error().stack ?? "").split("\n");
      const { source: text, flags: options } = pattern;
      if (caller.includes(`/src/${place}`)) found.push({ place, source: text, flags: options });
      return pattern;
    },
  });
  vi.stubGlobal("RegExp", recorded);
  try {
    for (place of paths) await import(/* @vite-ignore */ `../../src/${place}?constructed`);
  } finally {
    vi.unstubAllGlobals();
  }
  return found;
}
