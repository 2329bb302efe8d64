import { describe, expect, test } from "vitest";
import { parseEndpointToken } from "../../../src/api/endpoint-token.ts";
import { requesterHash } from "../../../src/domain/grants/granted-names.ts";
import {
  type RevocableToken,
  revocationDecision,
} from "../../../src/domain/endpoint-token/revocation.ts";

const now = Date.UTC(2026, 0, 1);
const end = "2026-01-01T01:00:00Z";
const deletionTimestamp = "2025-12-31T23:59:59Z";
const known: RevocableToken["requester"] = {
  kind: "known",
  name: "ann",
  uid: "",
  groups: [],
};
const unknown: RevocableToken["requester"] = { kind: "unknown", why: "no policies" };
const revoked = {
  kind: "revoked",
  expiresAt: Date.parse(end),
  requester: requesterHash("ann"),
};

function token(status: object, metadata: object = {}): RevocableToken["token"] {
  const annotations = { "management.service/requester": "ann" };
  return parseEndpointToken({
    metadata: {
      name: "t",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2025-12-31T23:00:00Z",
      annotations,
      ...metadata,
    },
    status,
  });
}

const minted = { token: "x", keyID: "kid", expiresAt: end };

describe("a token", () => {
  test.for<[string, RevocableToken, object | undefined]>([
    ["is valid", { token: token(minted), requester: known }, { kind: "valid" }],
    [
      "is revoked while its object is being deleted",
      { token: token(minted, { deletionTimestamp }), requester: known },
      revoked,
    ],
    [
      "is revoked while its object is being deleted, even if its requester cannot be verified",
      { token: token(minted, { deletionTimestamp }), requester: unknown },
      revoked,
    ],
    [
      "is revoked while its parent key does not exist",
      { token: token(minted), requester: known, parentKey: "gone" },
      revoked,
    ],
    [
      "is revoked after its status lost it",
      { token: token({ ...minted, token: undefined }, { deletionTimestamp }), requester: known },
      revoked,
    ],
    [
      "keeps its entry while its requester cannot be verified: its parent key is unknown",
      { token: token(minted), requester: unknown },
      undefined,
    ],
    [
      "needs no entry if it was never minted",
      { token: token({ expiresAt: end }, { deletionTimestamp }), requester: known },
      undefined,
    ],
    [
      "needs no entry if it has expired",
      {
        token: token({ ...minted, expiresAt: "2026-01-01T00:00:00Z" }, { deletionTimestamp }),
        requester: known,
      },
      undefined,
    ],
  ])("%s", ([, observed, decision]) => {
    expect(revocationDecision(observed, now)).toEqual(decision);
  });
});
