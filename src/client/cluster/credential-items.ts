import type { Metadata } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import type { ReportItem, Verdict } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { spanText } from "../../domain/lifetime.ts";
import type { ClusterAccess } from "../../domain/gateway/cluster-kubeconfig.ts";
import {
  clustersNamespace,
  connectedBySecret,
  currentOf,
  upstreamName,
} from "../../domain/gateway/connected-cluster.ts";
import { credentialState } from "../../domain/gateway/credential-end.ts";
import { clusterObject } from "../../domain/outbox/explain-cluster.ts";
import { timestamp } from "../../domain/plan/conditions.ts";
import { credentialValidity } from "../../tokens/cluster-credential.ts";
import type { Cluster } from "../connection/cluster.ts";
import { type Readable, readWith } from "../missing-right.ts";
import { withMissing } from "../report.ts";
import { dataIn, storedAccess } from "./cluster-address.ts";

/** When the credential of the gateway at a cluster ends. */
interface CredentialEnd {
  readonly state: Verdict;
  readonly reason: "Active" | "Expiring" | "Expired";
  /** A sentence without a period. */
  readonly message: string;
  /** In milliseconds since the epoch; undefined if the credential does not say it. */
  readonly endsAt: number | undefined;
}

const verdicts = { Active: "ok", Expiring: "info", Expired: "problem" } as const;

/** What is known at `now` of the end of a credential. */
export function credentialEnd(access: ClusterAccess, now: number): CredentialEnd {
  const validity = credentialValidity(access);
  const subject = "the credential of the gateway";
  if (validity === undefined)
    return { state: "ok", reason: "Active", message: `${subject} names no end`, endsAt: undefined };
  const { endsAt } = validity;
  const reason = credentialState(validity, now);
  const when = reason === "Expired" ? "has ended" : `ends in ${spanText((endsAt - now) / 1000)}`;
  const message = `${subject} ${when}, at ${timestamp(endsAt)}, and no process renews it`;
  return { state: verdicts[reason], reason, message, endsAt };
}

/** A credential, and the object of reports that it is about. */
export interface ClusterCredential extends CredentialEnd {
  readonly object: ReportItem["object"];
}

/** The credentials of all connected clusters that have one. */
export async function readCredentials(
  cluster: Pick<Cluster, "select">,
  now: number,
): Promise<Readable<readonly ClusterCredential[]>> {
  const resource = resources.secrets;
  const namespace = clustersNamespace;
  const right = { verb: "list", resource, namespace } as const;
  const { found, missing } = await readWith(right, () => cluster.select(right), []);
  const secrets = found.map((raw) => ({ raw, metadata: parseLatchkeyMetadata(raw) }));
  const named = Map.groupBy(secrets, ({ metadata }) => nameOf(metadata));
  const credentials = [...named].flatMap(([name, sameName]) => {
    const current = currentOf(sameName);
    const access = current && storedAccess(dataIn(current.raw));
    if (name === undefined || access === undefined) return [];
    return [{ object: clusterObject(name), ...credentialEnd(access, now) }];
  });
  return { found: credentials, missing };
}

/** A cluster by its name, and a virtual cluster as `<project>/<name>`. */
function nameOf(metadata: Metadata): string | undefined {
  const upstream = connectedBySecret(metadata);
  return upstream && upstreamName(upstream)?.replace(/^(?:virtual-)?cluster\//, "");
}

/** What `check` says of the credentials of the gateway at connected clusters. */
export async function credentialItems(
  cluster: Pick<Cluster, "select">,
  now: number,
): Promise<readonly ReportItem[]> {
  const { found, missing } = await readCredentials(cluster, now);
  const items = found.map(({ object, state, reason, message }) => ({
    object,
    state,
    reason,
    message: state === "ok" ? message : `${message}; ${renewal(object)}`,
    causes: [],
  }));
  return withMissing({ found: items, missing });
}

/** How the credential at a cluster is renewed. */
export function renewal({ name = "" }: ReportItem["object"]): string {
  return name.includes("/")
    ? "write another kubeconfig into its Secret"
    : `run kubectl latchkey cluster connect ${name} --gateway --rotate-key`;
}
