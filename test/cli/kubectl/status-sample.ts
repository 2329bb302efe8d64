import type { StatusReport } from "../../../src/cli/kubectl/status-report.ts";

const ready = { well: true, reason: "Ready", message: "The object matches its spec." };

/** A report with something of everything. */
export const sampleReport: StatusReport = {
  sharedSecrets: [
    {
      ...{ name: "team-a/database", ...ready, desired: 3, synced: 3, failures: [] },
      targets: ["web-dev/database", "web-prod/database", "web-test/database"],
      paused: ["web-test/database"],
    },
    {
      name: "team-a/registry",
      well: false,
      reason: "Conflict",
      message: "1 of 2 targets has a conflict.",
      ...{ desired: 2, synced: 1, targets: ["web-dev/registry"], paused: [] },
      failures: [
        {
          target: "web-prod/registry",
          reason: "NotManaged",
          message: 'Secret "web-prod/registry" already exists and is not managed by Latchkey',
        },
      ],
    },
    {
      ...{ name: "team-b/smtp", ...ready, desired: 4, synced: 4, failures: [] },
      ...{ targets: undefined, paused: [] },
    },
  ],
  keys: [
    {
      name: "ci-pipeline",
      well: true,
      reason: "Active",
      message: "The key is accepted.",
      expiresAt: "2026-11-26T09:00:00Z",
      endsIn: 259_200,
    },
  ],
  tokens: [
    {
      name: "laptop",
      well: true,
      reason: "Minted",
      message: "status.token contains a valid token.",
      expiresAt: "2026-11-23T09:42:00Z",
      endsIn: 2520,
    },
  ],
  notVisible: [
    {
      object: { kind: "Secret" },
      message: "you may not list Secrets in all namespaces, so targets are counted, not named",
    },
  ],
};
