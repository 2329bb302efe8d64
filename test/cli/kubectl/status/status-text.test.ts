import { expect, test } from "vitest";
import { paintWith } from "../../../../src/cli/kubectl/output.ts";
import { statusText } from "../../../../src/cli/kubectl/status/status-text.ts";
import { inConflict, sampleReport } from "./status-sample.ts";

const plain = paintWith(false);

test("the text is a tree", () => {
  expect(statusText(sampleReport, plain).split("\n")).toEqual([
    "SharedSecrets",
    "  team-a/database Ready, 2 of 2 targets synced",
    "  ├─ web-dev/database synced",
    "  ├─ web-prod/database synced",
    "  └─ web-test/database paused",
    "  team-a/registry Conflict, 1 of 2 targets synced, 1 conflict",
    "  ├─ 1 of 2 targets has a conflict.",
    '  ├─ web-prod/registry conflict NotManaged: Secret "web-prod/registry" already exists and is not managed by Latchkey',
    "  └─ web-dev/registry synced",
    "  team-b/smtp Ready, 4 of 4 targets synced",
    "Access keys that expire soon or are not ready",
    "  ci-pipeline Expiring, ends in 3d: The key is accepted.",
    "Direct tokens",
    "  laptop Minted, ends in 42m: status.token contains a valid token.",
    "Not visible to you",
    "  you may not list Secrets in all namespaces, so targets are counted, not named",
    "",
  ]);
});

test("an empty report says so, and has no section about rights", () => {
  const text = statusText({ sharedSecrets: [], keys: [], tokens: [], notVisible: [] }, plain);
  expect(text.split("\n").filter((line) => line === "  none")).toHaveLength(3);
  expect(text).not.toContain("Not visible");
});

test("more than 20 tokens are counted", () => {
  const [token] = sampleReport.tokens;
  const tokens = Array.from({ length: 25 }, (_, at) => ({
    ...token!,
    object: { kind: "DirectClusterEndpointToken", name: `token-${at}` },
  }));
  const text = statusText({ ...sampleReport, tokens }, plain);
  expect(text).toContain("  and 5 more\n");
  expect(text).not.toContain("token-20");
});

test("control characters of a message do not reach the terminal", () => {
  const sharedSecrets = [{ ...inConflict, message: "a\u{1b}[2Jb\nc" }];
  const text = statusText({ ...sampleReport, sharedSecrets }, plain);
  expect(text).toContain("├─ a\u{fffd}[2Jb c\n");
});
