import { describe, expect, test } from "vitest";
import { connect, warner } from "../../../src/client/connection/connect.ts";
import { systemTerminal } from "../../../src/client/terminal.ts";
import { TestClock } from "../../support/test-clock.ts";
import { runInMemory } from "../memory-cli.ts";

describe("a warning is the sentence of its policy, once", () => {
  test.each([
    [
      "Validation failed for ValidatingAdmissionPolicy 'latchkey-warn-scope' with binding 'latchkey-warn-scope': spec.scope: is\nempty",
      "spec.scope: is\nempty (policy latchkey-warn-scope)",
    ],
    ['unknown field "spec.a"', 'unknown field "spec.a"'],
  ])("%j", (text, warning) => {
    const said: string[] = [];
    const warn = warner({ say: (sentence) => void said.push(sentence) });
    for (const each of [text, text, "another", text]) warn(each);
    expect(said).toEqual([`warning: ${warning}`, "warning: another"]);
  });
});

test.each<[Readonly<Record<string, string>>, string]>([
  [{ KUBECONFIG: "/nowhere/a" }, 'KUBECONFIG is "/nowhere/a", and no such file exists'],
  [{ HOME: "/nowhere" }, "~/.kube/config does not exist"],
])("a command without a kubeconfig says which file is missing: %j", async (env, sentence) => {
  const deps = { terminal: systemTerminal(process, {}, () => {}), env, clock: new TestClock() };
  const { code, stderr } = await runInMemory(["list"], {
    connect: (flags) => connect(flags, deps),
  });
  expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
});
