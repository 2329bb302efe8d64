import type { Metadata } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import type { ReportItem, Verdict } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { spanText } from "../../domain/lifetime.ts";
import type { ClusterAccess } from "../../domain/gateway/cluster-kubeconfig.ts";
import {
  clustersNamespace,
  connectionName,
  currentOf,
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

/** The same of the cluster of a name, with how the credential is renewed if that is due. */
export function clusterCredential(name: string, access: ClusterAccess, now: number): CredentialEnd {
  const end = credentialEnd(access, now);
  if (end.state === "ok") return end;
  const renewal = name.includes("/")
    ? "write another kubeconfig into its Secret"
    : `run kubectl latchkey cluster connect ${name} --gateway --rotate-key`;
  return { ...end, message: `${end.message}; ${renewal}` };
}

/** The Secret that connects a cluster, and how the gateway reaches the cluster. */
export interface Connection {
  readonly metadata: Metadata;
  readonly access: ClusterAccess | undefined;
}

/** What connects each cluster, by its name; that of a virtual cluster is `<project>/<name>`. */
export async function readConnections({
  select,
}: Pick<Cluster, "select">): Promise<Readable<ReadonlyMap<string, Connection>>> {
  const resource = resources.secrets;
  const right = { verb: "list", resource, namespace: clustersNamespace } as const;
  const { found, missing } = await readWith(right, () => select(right), []);
  const all = found.map((raw) => ({
    metadata: parseLatchkeyMetadata(raw),
    access: storedAccess(dataIn(raw)),
  }));
  const named = Map.groupBy(all, ({ metadata }) =>
    connectionName(metadata)?.replace(/^(?:virtual-)?cluster\//, ""),
  );
  const current = [...named].flatMap(([name, sameName]) => {
    const one = currentOf(sameName);
    return name === undefined || one === undefined ? [] : [[name, one] as const];
  });
  return { found: new Map(current), missing };
}

/** What `check` says of the credentials of the gateway at connected clusters. */
export async function credentialItems(
  cluster: Pick<Cluster, "select">,
  now: number,
): Promise<readonly ReportItem[]> {
  const { found, missing } = await readConnections(cluster);
  const items = [...found].flatMap(([name, { access }]) => {
    if (access === undefined) return [];
    const { state, reason, message } = clusterCredential(name, access, now);
    return { object: clusterObject(name), state, reason, message, causes: [] };
  });
  return withMissing({ found: items, missing });
}
