import { expect, test } from "vitest";
import { managementEntry } from "../../../src/api/names.ts";
import { recordAt, stringAt } from "../../../src/api/parse.ts";
import type { ApiRequest } from "../../../src/kube/client/transport.ts";
import { shippedPolicyObjects } from "../../support/connected-policies.ts";
import { TestClock } from "../../support/test-clock.ts";
import { answeringCluster, type FakeAnswer, refusal, runCommand } from "../run-command.ts";

const frozen = refusal(
  500,
  "InternalError",
  'Internal error occurred: failed calling webhook "ownedaccesskeys.management.service": failed to call webhook: Post "https://a/b": context deadline exceeded',
);
const plurals = ["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"];
const well: FakeAnswer = [201, { spec: { key: "lk_canary" } }];

interface Changes {
  /** The answer to the dry run of a new key. */
  readonly ofKey?: FakeAnswer;
  /** Undefined: no controller has observed the Deployment. */
  readonly available?: number | undefined;
  /** Seconds since the Lease was renewed. */
  readonly renewed?: number;
  /** The version of the API server. */
  readonly gitVersion?: string;
  /** The name of a policy that decides nothing. */
  readonly weak?: string;
  /** The text of the issuers of tokens. */
  readonly issuers?: string;
}

const policies = shippedPolicyObjects("2025-01-01T00:00:00Z");

/** An installation that works but for these changes. */
function installation({
  ofKey = well,
  renewed = 4,
  gitVersion = "v1.35.0",
  weak,
  issuers,
  ...changes
}: Changes) {
  const available = "available" in changes ? changes.available : 2;
  const renewTime = new Date(new TestClock().now() - renewed * 1000).toISOString();
  return ({ method, path }: ApiRequest): FakeAnswer => {
    const [plural = "", name = ""] = path.split("?")[0]?.split("/").slice(-2) ?? [];
    const policy = policies[plural]?.find(
      (object) => stringAt(recordAt(object, "metadata"), "name") === name,
    );
    if (policy !== undefined) return [200, name === weak ? { ...policy, spec: {} } : policy];
    if (method === "POST" && name === "ownedaccesskeys") return ofKey;
    if (name === "latchkey-issuers")
      return issuers === undefined
        ? refusal(404, "NotFound", "not found")
        : [200, { data: { "issuers.yaml": issuers } }];
    if (name === "latchkey-cluster-agent") return refusal(404, "NotFound", "not found");
    const contents: Readonly<Record<string, unknown>> = {
      version: { gitVersion },
      v1: { resources: plurals.map((plural) => ({ name: plural })) },
      "latchkey-clusters": { data: { east: "{}", [managementEntry]: "{}" } },
      "latchkey-controller": {
        spec: { holderIdentity: "one", renewTime, leaseDurationSeconds: 15 },
      },
      deployments: {
        items: [
          {
            metadata: { name: "latchkey-webhook" },
            spec: { replicas: 2 },
            status:
              available === undefined
                ? {}
                : { observedGeneration: 1, availableReplicas: available },
          },
        ],
      },
    };
    return [method === "POST" ? 201 : 200, contents[name] ?? { status: {} }];
  };
}

const issuersText = (more: object): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [{ issuer: { url: "https://oidc.example", audiences: ["ci"] }, ...more }],
  });

test.each<[string, Changes, number, string]>([
  ["well on the oldest supported version", {}, 0, "Kubernetes v1.35.0 is supported."],
  [
    "a problem before it",
    { gitVersion: "v1.34.9-gke.1" },
    3,
    "Kubernetes v1.34.9-gke.1 is too old; Latchkey needs 1.35 or newer.",
  ],
  ["well beside parts that answer", {}, 0, '"one" holds the Lease and renewed it 4s ago.'],
  ["a problem beside a frozen webhook", { ofKey: frozen }, 3, "context deadline exceeded; look"],
  ["a problem beside a frozen controller", { renewed: 9 }, 3, "does not renew it; look at the log"],
  ["about the connected clusters", {}, 0, "You may not share clusters.management.service/east."],
  ["well where nothing runs Deployments", { available: undefined }, 0, "its pods are not known"],
  [
    "a problem beside a policy that decides nothing",
    { weak: "latchkey-own-rbac" },
    3,
    'ValidatingAdmissionPolicyBinding "latchkey-own-rbac" does not apply all that the policy decides',
  ],
  [
    "well beside issuers of tokens",
    { issuers: issuersText({}) },
    0,
    'Tokens of "https://oidc.example" count.',
  ],
  [
    "a problem beside issuers with an unknown field",
    { issuers: issuersText({ userValidationRules: [] }) },
    3,
    "jwt[0].userValidationRules is not honoured; remove it.",
  ],
  [
    "a problem beside a text of issuers that is no YAML",
    { issuers: "[" },
    3,
    "The text is no YAML.",
  ],
  [
    "a problem beside a pod that is missing",
    { available: 1 },
    3,
    "1 of 2 pods are available; look at them",
  ],
])("check is %s", async (_what, changes, code, sentence) => {
  const { cluster } = answeringCluster(installation(changes));
  const { stdout, ...checked } = await runCommand({
    command: "check",
    connect: async () => cluster,
  });
  expect(checked).toEqual({ code, stderr: "" });
  expect(stdout).toContain(sentence);
  expect(stdout).not.toMatch(/canary|_management/);
});
