import { describe, expect, test } from "vitest";
import { serverCommands } from "../../src/cli/server-program.ts";
import { commands } from "../../src/client/commands.ts";

/** The verbs that begin the help of a command, in the imperative as in the help of kubectl. */
const verbs = [
  ...["Authenticate", "Check", "Connect", "Copy", "Create", "Delete", "Disable"],
  ...["Disconnect", "Edit", "Enable", "Explain"],
  ...["List", "Preview", "Print", "Reconcile", "Remove", "Replace", "Request", "Rotate", "Run"],
  ...["Serve", "Set", "Show", "Test"],
];

/** Why a brief does not begin with an imperative; undefined if it does. */
function problemOf(brief: string): string | undefined {
  const [word = ""] = brief.split(" ", 1);
  if (!verbs.includes(word)) return `"${word}" is not one of the verbs`;
  return brief.endsWith(".") ? "the full stop belongs to the help" : undefined;
}

const described = [
  ...Object.values(serverCommands).map(({ name, brief }) => [`latchkey ${name}`, brief] as const),
  ...Object.values(commands).map(({ name, brief }) => [`kubectl latchkey ${name}`, brief] as const),
];

describe("the help of each command begins with an imperative", () => {
  test.each(described)("%s", (_name, brief) => {
    expect(problemOf(brief)).toBeUndefined();
  });

  test("and each verb is used", () => {
    const used = described.map(([, brief]) => brief.split(" ", 1)[0]);
    expect(verbs.filter((verb) => !used.includes(verb))).toEqual([]);
  });

  test.each(["lists objects", "Lists objects", "List objects.", "list objects"])(
    "finds the breach in %j",
    (breach) => {
      expect(problemOf(breach)).toBeDefined();
    },
  );
});
