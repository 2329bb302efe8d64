import type { KindName } from "./crd-requests.ts";

const fullScope = {
  roles: [{ role: "serviceCLI", projects: ["web"], virtualClusters: ["vc-1"] }],
  projects: [{ project: "*" }],
  spaces: [{ project: "web", space: "*" }],
  virtualClusters: [{ project: "web", virtualCluster: "*" }],
  clusters: [{ cluster: "*" }],
  rules: [
    {
      verbs: ["get", "list"],
      resources: [
        { group: "", resources: ["pods", "pods/log", "*/scale"] },
        { group: "apps", resources: [] },
      ],
      resourceNames: ["web-0"],
      namespaces: ["", "default"],
      nonResourceURLs: ["*", "/*", "/healthz/*", "/metrics"],
      requestTargets: ["Management", "Cluster"],
      cluster: "edge-1",
      virtualClusters: [{ name: "vc-1", namespace: "spaces" }],
    },
  ],
  allowServiceCli: true,
};

const fullSecret = {
  displayName: "Orders database",
  description: "How to reach it",
  owner: { user: "alice", team: "ops", contact: { chat: "#orders", pager: [1, 2] } },
  data: { ".dot": "", "-dash_2": "aA==", "UPPER.lower-1": "+/8=", plain: "AAAA" },
  access: [
    { name: "readers", verbs: ["get"], subresources: ["status"], users: ["bob"], teams: ["devs"] },
  ],
};

const fullKey = {
  displayName: "CI pipeline",
  description: "Deploys",
  user: "alice",
  team: "",
  subject: "",
  groups: ["deployers"],
  key: `sha256:0123456789abcdef.${"0123456789abcdef".repeat(4)}`,
  disabled: true,
  ttl: 3600,
  ttlAfterLastActivity: true,
  scope: fullScope,
  type: "User",
  identity: {
    userId: "42",
    username: "alice",
    preferredUsername: "Alice",
    email: "alice@example.com",
    emailVerified: true,
    groups: ["staff"],
    connector: "ldap",
    connectorData: "",
  },
  identityRefresh: "2026-11-21T13:00:00Z",
  oidcProvider: { clientId: "cli", nested: { anything: [true, null, 1.5] } },
  parent: "login",
  oidcLogin: {
    idToken: "id",
    accessToken: "access",
    refreshToken: "refresh",
    lastRefresh: "2026-11-21T13:00:00.123456+02:00",
  },
};

/** The spec of each kind with every field of the specification. */
export const full: readonly { kind: KindName; spec: Readonly<Record<string, unknown>> }[] = [
  { kind: "SharedSecret", spec: fullSecret },
  { kind: "OwnedAccessKey", spec: fullKey },
  { kind: "DirectClusterEndpointToken", spec: { ttl: 3600, scope: fullScope } },
];
