import { expect, test } from "vitest";
import { commandHelp } from "../../src/cli/help.ts";
import { serverHelpForm, serverOverview } from "../../src/cli/server-program.ts";
import { text, trueOrFalse } from "../../src/runtime/config-values.ts";

const command = {
  name: "greet",
  brief: "Print a greeting",
  options: {
    loudly: { value: "", initial: "false", help: "shout", parse: trueOrFalse },
    toWhom: { value: "<name>", initial: "world", help: "whom to greet", parse: text },
    file: { value: "<path>", initial: "", help: "where to", parse: text, env: "FILE" },
  },
};

test("the help of a command shows each option with its value, default and variable", () => {
  expect(commandHelp(command, serverHelpForm).split("\n").slice(0, 9)).toEqual([
    "Usage: latchkey greet [options]",
    "",
    "Print a greeting.",
    "",
    "Options:",
    "  --loudly          shout [LATCHKEY_LOUDLY]",
    "  --to-whom <name>  whom to greet (default world) [LATCHKEY_TO_WHOM]",
    "  --file <path>     where to [FILE]",
    "  -h, --help        print this help",
  ]);
});

test("the help of the program lists the commands", () => {
  expect(serverOverview([command])).toContain("\n  greet  Print a greeting\n");
});
