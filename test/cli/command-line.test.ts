import { expect, test } from "vitest";
import { runInMemory } from "../client/memory-cli.ts";
import { outcomeOf } from "./server-command-line.ts";

test.each(["--constructor", "--toString", "--hasOwnProperty"])(
  "%s, a property of every object, is no option of either program",
  async (option) => {
    const sentence = `option ${option} does not exist here; write options after a command`;
    const ofServer = { exitCode: 2, stderr: `latchkey: ${sentence}\n` };
    expect(await outcomeOf([option])).toMatchObject(ofServer);
    const ofClient = { code: 2, stderr: `kubectl latchkey: ${sentence}\n` };
    expect(await runInMemory([option])).toMatchObject(ofClient);
  },
);

test("a value may have a newline, as in a block of YAML", async () => {
  const { config } = await outcomeOf(["controller", "--quota-exempt=alice,\nbob\n"]);
  expect(config).toMatchObject({ quotaExempt: ["alice", "bob"] });
});

test("a command without arguments takes every word for an option, also --", async () => {
  expect(await outcomeOf(["controller", "--", "start"])).toMatchObject({
    exitCode: 2,
    stderr: 'latchkey: argument "--" is not an option; write options as --name=value\n',
  });
});
