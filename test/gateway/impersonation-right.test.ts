import { describe, expect, test } from "vitest";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { ImpersonationRight } from "../../src/gateway/impersonation-right.ts";
import { KubeError } from "../../src/kube/errors.ts";
import { settled, TestClock } from "../support/test-clock.ts";

/** The problem of a gateway that has these verbs; undefined verbs: the API server does not answer. */
async function problemsWith(verbs: readonly string[] | undefined): Promise<readonly string[]> {
  const clock = new TestClock();
  const stop = new AbortController();
  const right = new ImpersonationRight({
    clock,
    client: {
      review: async (_resource, spec) => {
        if (verbs === undefined) throw new KubeError("no answer", { code: "Network", status: 0 });
        const verb = stringAt(recordAt(spec, "resourceAttributes"), "verb") ?? "";
        return { status: { allowed: verbs.includes(verb) } };
      },
    },
  });
  const running = right.run(stop.signal);
  await settled();
  const problems = right.problems();
  stop.abort();
  await running;
  return problems;
}

describe("the right to impersonate", () => {
  const missing = [expect.stringContaining("config/gateway")];
  const unknown = [expect.stringContaining("could not be checked")];

  test.each<[string, readonly string[] | undefined, readonly unknown[]]>([
    [
      "is complete with constrained impersonation",
      ["impersonate:user-info", "impersonate-on:user-info:get"],
      [],
    ],
    ["is complete with impersonate", ["impersonate"], []],
    ["is missing without any verb", [], missing],
    ["is missing without the requests to impersonate on", ["impersonate:user-info"], missing],
    ["is unknown while the API server does not answer", undefined, unknown],
  ])("%s", async (_rule, verbs, problems) => {
    expect(await problemsWith(verbs)).toEqual(problems);
  });
});
