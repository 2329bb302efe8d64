import { expect, test } from "vitest";
import { parseEndpointToken } from "../../../src/api/endpoint-token.ts";
import { annotations } from "../../../src/api/names.ts";
import { explainToken } from "../../../src/domain/endpoint-token/explain-token.ts";

function explained(
  reason: string,
  { status = "False", generation = 1, metadata = {} }: Record<string, unknown> = {},
) {
  const ready = { type: "Ready", status, reason, message: "Said.", lastTransitionTime: "t" };
  const object = { name: "laptop", uid: "u", resourceVersion: "1", generation: 1 };
  const given = {
    annotations: { [annotations.requester]: "alice", [annotations.audienceCluster]: "East" },
  };
  return explainToken(
    parseEndpointToken({
      metadata: {
        ...object,
        ...given,
        creationTimestamp: "2026-01-01T00:00:00Z",
        ...Object(metadata),
      },
      spec: { ttl: 60 },
      status: { observedGeneration: generation, conditions: [ready] },
    }),
  );
}

test.for<[string, string, string | undefined]>([
  ["Expired", "spec.ttl", "60"],
  ["InvalidScope", "spec.scope", undefined],
  ["InvalidAudience", `metadata.annotations["${annotations.audienceCluster}"]`, "East"],
  ["UnknownRequester", `metadata.annotations["${annotations.requester}"]`, "alice"],
  ["ParentKeyInvalid", `metadata.annotations["${annotations.requesterKeyId}"]`, undefined],
  ["ApplyFailed", "status.conditions", undefined],
])("a token that is not valid is explained by a field: %s", ([reason, field, value]) => {
  const { state, reason: said, causes } = explained(reason);
  expect([state, said, causes[0]?.field, causes[0]?.value]).toEqual([
    ...["problem", reason, field, value],
  ]);
});

test("a valid token has no cause, and one in deletion has one", () => {
  expect(explained("Minted", { status: "True" })).toMatchObject({ state: "ok", causes: [] });
  const metadata = { deletionTimestamp: "2026-01-01T00:01:00Z" };
  expect(explained("Terminating", { metadata })).toMatchObject({
    state: "problem",
    causes: [{ field: "metadata.deletionTimestamp" }],
  });
});

test("a status of another generation says nothing", () => {
  expect(explained("Minted", { generation: 2 })).toMatchObject({
    object: { name: "laptop" },
    state: "unknown",
    reason: "NotObserved",
  });
});
