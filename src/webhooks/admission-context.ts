import type { SecretText } from "../api/secret-text.ts";
import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import type { Client } from "../kube/client/client.ts";
import type { Discovery } from "../kube/client/discovery.ts";
import type { Clock } from "../runtime/clock.ts";

/** Options of admission. */
export interface AdmissionOptions {
  /** Latchkey's own namespace, which is also that of connector data. */
  readonly namespace: string;
  /** Maximum number of keys of each requester. */
  readonly quotaKeys: number;
  /** Users without a quota. */
  readonly quotaExempt: readonly string[];
}

/** What the steps of admission decide from. */
export interface AdmissionContext {
  readonly options: AdmissionOptions;
  readonly accessKeys: Pick<
    AccessKeyCache,
    "byId" | "countOf" | "isFresh" | "issuers" | "locationOf" | "ofIndex" | "references" | "roles"
  >;
  readonly client: Pick<Client, "create" | "review">;
  readonly discovery: Pick<Discovery, "kindOf" | "known">;
  /** The HMAC key of connector data references; undefined until it is loaded. */
  readonly connectorKey: { current(): SecretText | undefined };
  readonly clock: Clock;
}
