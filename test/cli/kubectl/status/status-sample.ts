import type {
  SourceStatus,
  StatusReport,
  TargetStatus,
} from "../../../../src/cli/kubectl/status/status-report.ts";

const ready = {
  state: "ready",
  reason: "Ready",
  message: "The object matches its spec.",
  areNamed: true,
} as const;
const none = { synced: 0, conflict: 0, failed: 0, pending: 0 };
const synced = (target: string): TargetStatus => ({ target, state: "synced" });

/** A SharedSecret with a target in conflict. */
export const inConflict: SourceStatus = {
  name: "team-a/registry",
  state: "not-ready",
  reason: "Conflict",
  message: "1 of 2 targets has a conflict.",
  counts: { ...none, synced: 1, conflict: 1 },
  summary: "1 of 2 targets synced, 1 conflict",
  areNamed: true,
  targets: [
    {
      ...{ target: "web-prod/registry", state: "conflict" },
      failure: {
        reason: "NotManaged",
        message: 'Secret "web-prod/registry" already exists and is not managed by Latchkey',
      },
    },
    synced("web-dev/registry"),
  ],
};

/** A report with something of everything. */
export const sampleReport: StatusReport = {
  sharedSecrets: [
    {
      ...{ name: "team-a/database", ...ready, counts: { ...none, synced: 2 } },
      summary: "2 of 2 targets synced",
      targets: [
        ...["web-dev/database", "web-prod/database"].map(synced),
        { target: "web-test/database", state: "paused" },
      ],
    },
    inConflict,
    {
      ...{ name: "team-b/smtp", ...ready, counts: { ...none, synced: 4 } },
      ...{ summary: "4 of 4 targets synced", areNamed: false, targets: [] },
    },
  ],
  keys: [
    {
      name: "ci-pipeline",
      state: "expiring",
      reason: "Expiring",
      message: "The key is accepted.",
      expiresAt: "2026-11-26T09:00:00Z",
      endsIn: 259_200,
    },
  ],
  tokens: [
    {
      name: "laptop",
      state: "ready",
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
