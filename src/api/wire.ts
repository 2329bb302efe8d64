import type {
  EventsV1Event,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1Lease,
  V1ResourceQuota,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1SubjectAccessReview,
} from "@kubernetes/client-node";
import type { SecretText } from "./secret-text.ts";

interface Kinds {
  ClusterRole: V1ClusterRole;
  ClusterRoleBinding: V1ClusterRoleBinding;
  ConfigMap: V1ConfigMap;
  Event: EventsV1Event;
  Lease: V1Lease;
  ResourceQuota: V1ResourceQuota;
  Role: V1Role;
  RoleBinding: V1RoleBinding;
  Secret: V1Secret;
  SubjectAccessReview: V1SubjectAccessReview;
}

type Sent<T> = T extends Date
  ? string
  : T extends string
    ? T | SecretText
    : T extends readonly (infer Item)[]
      ? readonly Sent<Item>[]
      : T extends object
        ? { readonly [Field in keyof T]: Sent<T[Field]> }
        : T;

/**
 * An object of a kind of Kubernetes as it is sent, where a text may be secret:
 * `satisfies Wire<"Role">` makes the compiler refuse a field that the kind does not have. Only
 * types are imported.
 */
export type Wire<Kind extends keyof Kinds> = Sent<Kinds[Kind]>;
