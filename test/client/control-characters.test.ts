import fc from "fast-check";
import { load } from "js-yaml";
import { describe, expect, test, vi } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { jsonText, visibleText, yamlText } from "../../src/client/output.ts";
import { systemTerminal } from "../../src/client/terminal.ts";
import { runs } from "../support/property-runs.ts";
import { runInMemory, sharedSecret } from "./memory-cli.ts";

/** A control character of each kind, and one that changes the direction of text. */
const hostile = "\u001b[31m\u0007\u007f\u009b2J\u202e";
const escaped = String.raw`\u001b[31m\u0007\u007f\u009b2J\u202e`;
const obeyed = /(?!\n)\p{Cc}|\p{Bidi_Control}/u;

const at = "2026-01-01T00:00:00Z";
const conditions = [
  { type: "Ready", status: "False", reason: hostile, message: hostile, lastTransitionTime: at },
];
const failures = [{ namespace: "web", name: hostile, reason: "Rejected", message: hostile }];
const metadata = {
  name: "database",
  namespace: "team-a",
  uid: "1",
  resourceVersion: "1",
  generation: 1,
  creationTimestamp: at,
  labels: { a: hostile },
  annotations: { [hostile]: hostile },
};
const status = { observedGeneration: 1, conditions, sync: { desired: 1, synced: 0, failures } };
const spec = {
  displayName: hostile,
  data: { [hostile]: "YQ==" },
  access: [{ verbs: ["get"], users: [hostile] }],
};
const own = { apiVersion, metadata, spec, status };
const key = {
  spec: { user: hostile, displayName: hostile, description: hostile, ttl: 60 },
  status,
};
const objects = {
  sharedsecrets: [
    { ...own, kind: "SharedSecret" },
    { ...own, kind: "SharedSecret", metadata: { ...metadata, name: hostile, uid: "2" } },
  ],
  ownedaccesskeys: [{ apiVersion, kind: "OwnedAccessKey", metadata, ...key }],
  directclusterendpointtokens: [
    { apiVersion, kind: "DirectClusterEndpointToken", metadata, ...key },
  ],
  namespaces: [{ apiVersion: "v1", kind: "Namespace", metadata: { ...metadata, name: hostile } }],
  secrets: [{ apiVersion: "v1", kind: "Secret", metadata, data: {} }],
};

describe("no character that a terminal obeys is in", () => {
  const commands: readonly (readonly string[])[] = [
    ["list"],
    ["keys", "list"],
    ["keys", "describe", "database"],
    ["token", "list"],
    ["token", "describe", "database"],
    ["why", "shsec/database"],
    ["why", "oak/database"],
    ["why", "dcet/database"],
    ["status"],
    ["check"],
    ["plan"],
    ["version"],
  ];
  const outputs = commands.flatMap((words) =>
    [[], ["-o", "json"], ["-o", "yaml"]].map((output) => [[...words, ...output]] as const),
  );
  test.each(outputs)("%j", async (words) => {
    const { code, stdout, stderr } = await runInMemory(words, { objects });
    expect([0, 3]).toContain(code);
    expect(stdout + stderr).not.toBe("");
    expect(stdout).not.toMatch(obeyed);
  });

  test.each(["json", "yaml", "dotenv", "shell"])("get -o %s on a terminal", async (output) => {
    const values = { sharedsecrets: [sharedSecret({ A: hostile, [`B${hostile}`]: "b" })] };
    const choice = output === "shell" || output === "dotenv" ? ["--all"] : [];
    const run = await runInMemory(["get", "database", "-o", output, ...choice], {
      objects: values,
      terminal: { isOutput: true },
    });
    expect(run.stdout).toContain("A");
    expect(run.stdout).not.toMatch(obeyed);
  });

  test("a sentence on the standard error", () => {
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    systemTerminal(process, {}, () => {}).say(`left out ${hostile}`);
    const stderr = String(write.mock.calls[0]?.[0]);
    write.mockRestore();
    expect(stderr).toMatch(/^kubectl latchkey: left out [^\n]+\n$/);
    expect(stderr).not.toMatch(obeyed);
  });
});

describe("a value is printed", () => {
  const said = "control characters are escaped on a terminal; write the output to a pipe or a file";
  test.each<[string, string | Buffer, boolean, string, boolean]>([
    ["raw into a pipe", `a${hostile}`, false, `a${hostile}`, false],
    ["with escapes on a terminal", `a${hostile}`, true, `a${escaped}\n`, true],
    ["as it is on a terminal", 'a\tb\n"é😀\\u001b', true, 'a\tb\n"é😀\\u001b\n', false],
    ["without another line break", "a\n", true, "a\n", false],
    ["with its carriage returns", "a\r\n", true, "a\\u000d\n", true],
    ["with bytes that are no text", Buffer.of(0x61, 0x9b, 0xff), true, "a\\x9b\\xff\n", true],
  ])("%s", async (_what, value, isOutput, stdout, isSaid) => {
    const run = await runInMemory(["get", "database", "A"], {
      objects: { sharedsecrets: [sharedSecret({ A: value })] },
      terminal: { isOutput },
    });
    expect(run).toMatchObject({ code: 0, stdout });
    expect(run.stderr.startsWith(said)).toBe(isSaid);
  });
});

test("JSON and YAML with escapes are read as what they were written from", () => {
  const unit = fc.constantFrom(
    ...Array.from(hostile),
    "\u0085",
    "\u2066",
    "\r",
    "\n",
    " ",
    ":",
    "#",
    "'",
    '"',
    "a",
  );
  const text = fc.string({ unit, maxLength: 6 });
  fc.assert(
    fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text))), (content) => {
      const plain = { ...content };
      expect(JSON.parse(jsonText(plain))).toEqual(plain);
      expect(load(yamlText(plain))).toEqual(plain);
      expect(jsonText(plain) + yamlText(plain)).not.toMatch(obeyed);
    }),
    runs(500),
  );
  expect(visibleText("a\n\tb")).toBe("a\n\tb");
});
