import type { ReportItem, SyncState } from "../../../src/api/report.ts";
import type { SourceStatus, StatusReport } from "../../../src/client/status/status-report.ts";

const ready = {
  state: "ok",
  reason: "Ready",
  message: "The object matches its spec.",
  causes: [],
  said: "",
  areNamed: true,
  clusters: [],
} as const;
const none = { synced: 0, conflict: 0, failed: 0, pending: 0, unremoved: 0 };

function sharedSecret(namespace: string, name: string): ReportItem["object"] {
  return { kind: "SharedSecret", namespace, name };
}

/** A target of a SharedSecret that records no error; without a state it is paused. */
export function target(
  source: ReportItem["object"],
  namespace: string,
  state?: SyncState,
): ReportItem {
  return {
    object: { kind: "Secret", namespace, name: source.name },
    source,
    target: state,
    ...(state === undefined
      ? { state: "info", reason: "CopyPaused", message: "It is paused." }
      : { state: "ok", reason: "CopyFound", message: "It is a copy." }),
    causes: [],
  };
}

const [database, registry] = [
  sharedSecret("team-a", "database"),
  sharedSecret("team-a", "registry"),
];
const conflict = {
  reason: "NotManaged",
  message: 'Secret "web-prod/registry" already exists and is not managed by Latchkey',
};

/** A SharedSecret with a target in conflict. */
export const inConflict: SourceStatus = {
  object: registry,
  state: "problem",
  reason: "Conflict",
  message: "1 of 2 targets has a conflict.",
  causes: [{ object: target(registry, "web-prod").object, ...conflict }],
  targets: { ...none, synced: 1, conflict: 1 },
  summary: "1 of 2 targets synced, 1 conflict, 1 of 2 clusters synced",
  said: "1 of 2 targets has a conflict.",
  areNamed: true,
  clusters: [
    {
      object: { kind: "Cluster", name: "west" },
      source: registry,
      state: "problem",
      reason: "ClusterUnreachable",
      causes: [],
      message: "0 of 2 targets there synced: the agent has not reported for 90 s or longer",
    },
    {
      object: { kind: "Cluster", name: "east" },
      source: registry,
      state: "ok",
      reason: "Arrives",
      causes: [],
      message: "3 of 3 targets there synced.",
    },
  ],
  secrets: [
    { ...target(registry, "web-prod", "conflict"), state: "problem", ...conflict },
    target(registry, "web-dev", "synced"),
  ],
};

/** A report with something of everything. */
export const sampleReport: StatusReport = {
  sharedSecrets: [
    {
      object: database,
      displayName: "Orders database",
      ...ready,
      targets: { ...none, synced: 2 },
      summary: "2 of 2 targets synced",
      secrets: [
        target(database, "web-dev", "synced"),
        target(database, "web-prod", "synced"),
        target(database, "web-test"),
      ],
    },
    inConflict,
    {
      object: sharedSecret("team-b", "smtp"),
      ...ready,
      targets: { ...none, synced: 4 },
      summary: "4 of 4 targets synced",
      areNamed: false,
      secrets: [],
    },
  ],
  keys: [
    {
      object: { kind: "OwnedAccessKey", name: "ci-pipeline" },
      displayName: "Pipeline",
      state: "info",
      reason: "Expiring",
      message: "The key is accepted.",
      causes: [],
      expiresAt: "2026-11-26T09:00:00Z",
      endsIn: 259_200,
    },
  ],
  tokens: [
    {
      object: { kind: "DirectClusterEndpointToken", name: "laptop" },
      state: "ok",
      reason: "Minted",
      message: "status.token contains a valid token.",
      causes: [],
      expiresAt: "2026-11-23T09:42:00Z",
      endsIn: 2520,
    },
  ],
  clusters: [
    {
      object: { kind: "Cluster", name: "east" },
      state: "info",
      reason: "Expiring",
      causes: [],
      message: "The credential of the gateway ends in 9d.",
      cluster: { projects: ["web"], heartbeatAge: 4, offered: 1, synced: 1, withdrawals: 0 },
    },
    {
      object: { kind: "Cluster", name: "west" },
      state: "problem",
      causes: [],
      reason: "ClusterUnreachable",
      message: "The agent has not reported for 90 s.",
      cluster: {
        projects: ["*"],
        heartbeatAge: 7200,
        offered: 1,
        synced: 0,
        withdrawals: 1,
        unseenAge: 300,
      },
    },
  ],
  isConnected: false,
  policies: [
    {
      object: { kind: "ValidatingAdmissionPolicy", name: "latchkey-mint-guard" },
      state: "problem",
      reason: "PolicyChanged",
      causes: [],
      message: "The policy decides something else than that of Latchkey.",
    },
  ],
  notVisible: [
    {
      object: { kind: "Secret" },
      state: "unknown",
      reason: "Forbidden",
      causes: [],
      message: "you may not list Secrets in all namespaces, so targets are counted, not named",
    },
  ],
};
