import fc from "fast-check";
import { annotations, labels } from "../../src/api/names.ts";

/** The namespaces of a walk; `home` is that of the SharedSecrets. */
export const walkNamespaces = ["home", "web", "pay"] as const;

/** The name of a namespace of a walk. */
export type WalkNamespace = (typeof walkNamespaces)[number];

/** The labels and annotations of a namespace for Latchkey. */
export interface NamespaceWants {
  readonly project: string | null;
  readonly sync: string | null;
  readonly syncFrom: string | null;
  /** Whether {@link platformPolicy} puts its marks on every Secret. */
  readonly platform: "on" | null;
}

/** What all namespaces say. */
export type Namespaces = Readonly<Record<WalkNamespace, NamespaceWants>>;

/** A change of the labels and annotations of a namespace. */
export interface NamespaceAction {
  readonly do: "namespace";
  readonly name: WalkNamespace;
  readonly wants: NamespaceWants;
}

/** The initial namespaces. */
export const firstNamespaces: Namespaces = {
  home: { project: null, sync: null, syncFrom: null, platform: null },
  web: { project: "web", sync: "enabled", syncFrom: null, platform: null },
  pay: { project: "pay-eu", sync: "enabled", syncFrom: null, platform: null },
};

/** Changes of a namespace. */
export const namespaceAction: fc.Arbitrary<NamespaceAction> = fc.record({
  do: fc.constant("namespace" as const),
  name: fc.constantFrom(...walkNamespaces),
  wants: fc.record({
    project: fc.constantFrom("web", "pay-eu", "pay-us", null),
    sync: fc.constantFrom("enabled", "enabled", "enabled", "disabled", null),
    syncFrom: fc.constantFrom(
      ...["the-home", "elsewhere, the-home", "elsewhere", "", null, null, null, null],
    ),
    platform: fc.constantFrom("on", null, null),
  }),
});

/** The changes that lead to these namespaces. */
export function changesTo(namespaces: Namespaces): readonly NamespaceAction[] {
  return walkNamespaces.map((name) => ({ do: "namespace", name, wants: namespaces[name] }));
}

/** Metadata of a namespace with these settings. */
export function namespaceMetadata({ project, sync, syncFrom, platform }: NamespaceWants) {
  return {
    labels: { [labels.project]: project, [platformLabel]: platform },
    annotations: { [annotations.sync]: sync, [annotations.syncFrom]: syncFrom },
  };
}

const platformLabel = "test.example/platform";
const api = { apiVersion: "admissionregistration.k8s.io/v1" } as const;
const metadata = { name: "test-platform" } as const;

/** A policy of a platform, and its binding: one fixed label and annotation for every Secret. */
export const platformPolicy = {
  mutatingadmissionpolicies: {
    ...api,
    kind: "MutatingAdmissionPolicy",
    metadata,
    spec: {
      reinvocationPolicy: "Never",
      matchConstraints: {
        namespaceSelector: { matchLabels: { [platformLabel]: "on" } },
        resourceRules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE", "UPDATE"],
            resources: ["secrets"],
          },
        ],
      },
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression:
              'Object{metadata: Object.metadata{labels: {"test.example/cost": "shared"}, ' +
              'annotations: {"test.example/scanned": "yes"}}}',
          },
        },
      ],
    },
  },
  mutatingadmissionpolicybindings: {
    ...api,
    kind: "MutatingAdmissionPolicyBinding",
    metadata,
    spec: { policyName: metadata.name },
  },
} as const;
