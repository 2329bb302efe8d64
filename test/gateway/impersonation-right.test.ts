import { describe, expect, test } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { ImpersonationRight } from "../../src/gateway/impersonation-right.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const noAnswer = new KubeError("no answer", { code: "Network", status: 0 });
const forbidden = new KubeError("forbidden", { code: "Forbidden", status: 403 });

/**
 * The problem of a gateway that has these verbs and reads this version of the API server; undefined
 * verbs: the API server does not answer. It lacks the right to one subresource.
 */
async function problemsWith(
  verbs: readonly string[] | undefined,
  version: string | KubeError = "v1.36.2",
  lacks = "nothing",
): Promise<readonly string[]> {
  const clock = new TestClock();
  const stop = new AbortController();
  const right = new ImpersonationRight({
    clock,
    directory: "gateway",
    transport: {
      request: async () => {
        if (version instanceof KubeError) throw version;
        return { status: 200, text: JSON.stringify({ gitVersion: version }) };
      },
    },
    client: {
      review: async (_resource, spec) => {
        if (verbs === undefined) throw noAnswer;
        const { verb, subresource } = recordAt(spec, "resourceAttributes");
        const allowed = verbs.includes(String(verb)) && subresource !== lacks;
        return { status: { allowed } };
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

  const constrained = ["impersonate:user-info", "impersonate-on:user-info:get"];

  test.each<[string, readonly string[] | undefined, readonly unknown[]]>([
    ["is complete with constrained impersonation", constrained, []],
    ["is complete with impersonate", ["impersonate"], []],
    ["is missing without any verb", [], missing],
    ["is missing without the requests to impersonate on", ["impersonate:user-info"], missing],
    ["is unknown while the API server does not answer", undefined, unknown],
  ])("%s", async (_rule, verbs, problems) => {
    expect(await problemsWith(verbs)).toEqual(problems);
  });

  test.each([[constrained], [["impersonate"]]])(
    "is missing without the extra of a role that an earlier version shipped: %j",
    async (verbs) => {
      const lacks = "management.service/credential-id";
      expect(await problemsWith(verbs, "v1.36.2", lacks)).toEqual([
        expect.stringContaining(`with ${lacks}; apply config/gateway`),
      ]);
    },
  );

  const tooOld = [expect.stringMatching(/v1\.35\.\S+ .* config\/gateway-before-1\.36$/)];

  test.each<[string, readonly string[], string | KubeError, readonly unknown[]]>([
    ["is missing with constrained impersonation before 1.36", constrained, "v1.35.9", tooOld],
    ["is missing there in a distribution, too", constrained, "v1.35.9-eks-1a2b", tooOld],
    ["is complete with impersonate before 1.36", ["impersonate"], "v1.35.9", []],
    ["is complete with constrained impersonation on 1.37", constrained, "v1.37.0+k3s1", []],
    ["is complete on a server of another version scheme", constrained, "v2.0.0", []],
    ["is complete on a server whose version is forbidden to read", constrained, forbidden, []],
    ["is unknown while the version cannot be read", constrained, noAnswer, unknown],
  ])("%s", async (_rule, verbs, version, problems) => {
    expect(await problemsWith(verbs, version)).toEqual(problems);
  });
});
