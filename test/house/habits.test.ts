import { describe, expect, test } from "vitest";
import { linesWith, roomOf, type SourceFile, sourceFile, sourceFiles } from "./source-files.ts";

interface Habit {
  readonly rule: string;
  readonly pattern: RegExp;
  /** The files and directories that are exempt. */
  readonly at: readonly string[];
  /** A line that breaks the rule, so that the pattern is known to match. */
  readonly breach: string;
}

const habits: readonly Habit[] = [
  {
    rule: "there are no default exports",
    pattern: /\bexport\s+default\b|\bas\s+default\b/,
    at: [],
    breach: "export default value;",
  },
  {
    rule: "only api casts types",
    pattern:
      /\bas\s+(?:[A-Z{(]|any\b|unknown\b|never\b|string\b|number\b|boolean\b|readonly\b|typeof\b|keyof\b)/,
    at: ["api"],
    breach: "const spec = raw as Spec;",
  },
  {
    rule: "there are no non-null assertions",
    pattern: /[\w)\]]!(?!=)/,
    at: [],
    breach: "use(found!);",
  },
  {
    rule: "only one file reads the environment",
    pattern: /\bprocess\.env\b/,
    at: ["runtime/environment.ts"],
    breach: "const home = process.env.HOME;",
  },
  {
    rule: "only the clock and the yielder read the time",
    pattern:
      /\bDate\.now\b|\bperformance\b|\bnew Date\(\s*\)|(?<!new )(?<![.\w])Date\(|\bset(?:Timeout|Interval|Immediate)\b|\bprocess\.(?:hrtime|uptime)\b/,
    // yielder.ts yields to other work of the event loop; status-page-script.ts runs in a browser.
    at: ["runtime/clock.ts", "runtime/yielder.ts", "client/status/status-page-script.ts"],
    breach: "const now = new Date().getTime();",
  },
  {
    rule: "only main uses Math.random",
    pattern: /\bMath\.random\b/,
    at: ["main.ts"],
    breach: "const jitter = Math.random();",
  },
  {
    rule: "only three files turn random bytes into names and keys",
    pattern: /\brandom(?:Bytes|UUID|Int)\b/,
    at: ["tokens", "runtime/environment.ts"],
    breach: "const id = randomUUID();",
  },
  {
    rule: "only the entry point ends the process",
    pattern: /\bprocess\.(?:exit|exitCode|abort|kill)\b/,
    at: ["main.ts", "cli", "client"],
    breach: "process.exit(1);",
  },
  {
    rule: "only tokens and the encoder reveal secrets",
    pattern: /\breveal\b/,
    at: ["tokens", "kube/client/request-body.ts", "api/secret-text.ts"],
    breach: "return SecretText.reveal(key);",
  },
  {
    rule: "only main and the command line print",
    pattern: /\bconsole\b|\bprocess\.std(?:out|err)\b/,
    at: ["main.ts", "cli", "client"],
    breach: "console.log(secret);",
  },
  {
    rule: "domain is synchronous",
    pattern: /\basync\b|\bawait\b|\bPromise\b/,
    at: [
      "kube",
      "policies",
      "authn",
      "certificates",
      "published",
      "controllers",
      "runtime",
      "tokens",
      "webhooks",
      "gateway",
      "cli",
      "client",
      "main.ts",
    ],
    breach: "await client.get();",
  },
  {
    rule: "no properties are packed to save lines",
    pattern: /\.\.\.\{/,
    at: [],
    breach: "return { ...{ a, b }, c };",
  },
  {
    rule: "no check of the compiler or the linter is disabled",
    pattern: /@ts-(?:ignore|expect-error|nocheck)|oxlint-disable|eslint-disable/,
    at: [],
    breach: "// @ts-ignore",
  },
  {
    rule: "there are no TODOs",
    pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/,
    at: [],
    breach: "// TODO: later",
  },
];

/** Rules about comments are checked against the whole text. */
const inComments = /TODO|@ts-/;

describe("source conventions", () => {
  test.each(habits)("$rule", ({ pattern, at }) => {
    const elsewhere = sourceFiles.filter(
      ({ path }) => !at.includes(path) && !at.includes(roomOf(path)),
    );
    expect(elsewhere.flatMap((file) => breaches(file, pattern))).toEqual([]);
  });

  test.each(habits)("$rule: detects a violation", ({ pattern, breach }) => {
    const file = sourceFile(
      "domain/breach.ts",
      `/** A comment. */\nconst text = "a // string";\n${breach}\n`,
    );
    expect(breaches(file, pattern)).toHaveLength(1);
  });

  test("text in comments and strings violates no rule", () => {
    const lines = [
      "/** Uses `Date.now` as Spec. */",
      'const text = "Date.now as Spec"; // as Spec',
      'import { a as b } from "./a.ts";',
      'import * as c from "c";',
      "use(/[\"'\\/]/, text);",
    ];
    const file = sourceFile("domain/harmless.ts", lines.join("\n"));
    expect(habits.flatMap(({ pattern }) => breaches(file, pattern))).toEqual([]);
  });
});

function breaches(file: SourceFile, pattern: RegExp): readonly string[] {
  if (inComments.test(pattern.source)) return linesWith({ ...file, code: file.text }, pattern);
  const code = file.code.replaceAll(
    /^(?:import|export)\s+(?:type\s+)?(?:\*\s+as\s+\w+|\{[^}]*\})/gm,
    (names) => names.replaceAll(/\bas\s+(?!default\b)/g, ""),
  );
  return linesWith({ ...file, code }, pattern);
}
