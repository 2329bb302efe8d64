import { expect, test } from "vitest";
import { reviewItems } from "../../../src/client/explain/review-items.ts";
import { settled, TestClock } from "../../support/test-clock.ts";
import { answeringCluster, type FakeAnswer, refusal } from "../run-command.ts";

const plurals = ["ownedaccesskeys", "tokenreviews", "subjectaccessreviews"] as const;
type Answers = Readonly<Record<(typeof plurals)[number], FakeAnswer | Promise<never>>>;

const post = 'Post "https://latchkey-webhook.latchkey-system.svc:443/secret-path';
const timedOut = "context deadline exceeded";
const never = new Promise<never>(() => {});

/** What an installation answers whose webhook works. */
const well: Answers = {
  ownedaccesskeys: [201, { spec: { disabled: true, key: "lk_canary" } }],
  tokenreviews: [201, { status: { error: "invalid bearer token" } }],
  subjectaccessreviews: [
    201,
    { status: { denied: true, reason: "the access key of this request was deleted" } },
  ],
};
const forbidden = refusal(
  403,
  "Forbidden",
  'tokenreviews.authentication.k8s.io is forbidden: User "bob" cannot create resource "tokenreviews" in API group "authentication.k8s.io" at the cluster scope',
);
const answered = ["ok", "Answered"];

test.each<[string, Partial<Answers>, readonly string[], string]>([
  ["a webhook that works", {}, [...answered, ...answered, ...answered], "answered a review"],
  [
    "a frozen webhook",
    {
      ownedaccesskeys: refusal(
        500,
        "InternalError",
        `Internal error occurred: failed calling webhook "ownedaccesskeys.management.service": failed to call webhook: ${post}/admit/ownedaccesskeys?timeout=5s": ${timedOut}`,
      ),
      tokenreviews: never,
      subjectaccessreviews: [
        201,
        {
          status: {
            denied: true,
            evaluationError: `${post}/access-review?timeout=3s": ${timedOut}`,
          },
        },
      ],
    },
    ["problem", "NotAnswered", "problem", "NotAnswered", "problem", "NotAnswered"],
    `The webhook did not answer a review: ${timedOut}; look whether a firewall or a NetworkPolicy keeps kube-apiserver from port 8443 of the webhook, and at the log of latchkey webhook.`,
  ],
  [
    "a webhook that does not run",
    {
      tokenreviews: [
        201,
        { status: { error: `[invalid bearer token, ${post}": connect: connection refused]` } },
      ],
    },
    [...answered, "problem", "NotAnswered", ...answered],
    "The webhook did not answer a review: connect: connection refused; look at the log of latchkey webhook.",
  ],
  [
    "a webhook whose cache is behind",
    {
      subjectaccessreviews: [
        201,
        { status: { denied: true, reason: "access key cache not synced; retry" } },
      ],
    },
    [...answered, ...answered, "problem", "NotAnswered"],
    "The webhook did not answer a review: access key cache not synced; retry;",
  ],
  [
    "a webhook whose cache is behind, beside another authenticator",
    {
      tokenreviews: [
        201,
        { status: { error: "[invalid bearer token, access key cache not synced; retry]" } },
      ],
    },
    [...answered, "problem", "NotAnswered", ...answered],
    "The webhook did not answer a review: access key cache not synced; retry;",
  ],
  [
    "a webhook that refuses the key",
    {
      ownedaccesskeys: refusal(
        429,
        "TooManyRequests",
        'admission webhook "ownedaccesskeys.management.service" denied the request: bob already has 1000',
      ),
    },
    [...answered, ...answered, ...answered],
    "and refused it",
  ],
  [
    "no webhook",
    {
      ownedaccesskeys: [201, { spec: { disabled: true } }],
      subjectaccessreviews: [201, { status: { allowed: false } }],
    },
    ["info", "NotFound", ...answered, "info", "NotFound"],
    "apply config/webhook of Latchkey",
  ],
  [
    "a user without rights",
    { ownedaccesskeys: forbidden, tokenreviews: forbidden, subjectaccessreviews: forbidden },
    ["unknown", "Forbidden", "unknown", "Forbidden", "unknown", "Forbidden"],
    'User "bob" cannot create resource "tokenreviews"',
  ],
])("check sees %s", async (_case, changes, states, sentence) => {
  const answers = { ...well, ...changes };
  const { cluster, requests } = answeringCluster(({ path }) => {
    const asked = plurals.find((plural) => path.split(/[/?]/).includes(plural));
    return asked === undefined ? refusal(404, "NotFound", path) : answers[asked];
  });
  const clock = new TestClock();
  const checks = reviewItems(cluster, { clock });
  await settled();
  clock.advance(10_000);
  const found = await checks;
  expect(found.flatMap(({ state, reason }) => [state, reason])).toEqual(states);
  const text = JSON.stringify(found);
  expect(found.map(({ message }) => message).join("\n")).toContain(sentence);
  expect(text).not.toMatch(/secret-path|canary/);
  expect(requests.find(({ path }) => path.includes("ownedaccesskeys"))?.path).toContain(
    "dryRun=All",
  );
});
