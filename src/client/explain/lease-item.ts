import { numberAt, recordAt, stringAt } from "../../api/parse.ts";
import type { ReportItem, ReportObject } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { instantOf, spanText } from "../../domain/lifetime.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Cluster } from "../connection/cluster.ts";
import { sentenceOf } from "../failure.ts";
import { waitUntil } from "../progress.ts";
import { plainItem } from "../report.ts";

/** What is checked, and with what. */
export interface Checked {
  readonly cluster: Cluster;
  /** The namespace that Latchkey runs in. */
  readonly namespace: string;
  readonly clock: Clock;
}

/** A Lease by which replicas of a process elect their leader. */
interface ElectionLease {
  readonly name: string;
  /** The command of the process, such as latchkey controller. */
  readonly process: string;
}

/** That a right is missing; throws any other error. */
export function forbiddenItem(object: ReportObject, error: unknown): ReportItem {
  if (!isKubeError(error, "Forbidden")) throw error;
  return plainItem(object, ["unknown", "Forbidden"], sentenceOf(error));
}

/** Whether a process leads, as its Lease says. */
export async function leaseItem(
  { cluster, namespace, clock }: Checked,
  { name, process }: ElectionLease,
): Promise<ReportItem> {
  const ref = { namespace, name };
  const object = { kind: resources.leases.kind, ...ref };
  const problem = (message: string): ReportItem =>
    plainItem(object, ["problem", "NotLeading"], message);
  const read = async () => leaseOf(await cluster.get(resources.leases, ref));
  try {
    const first = await read();
    if (first.holder === "") return problem(`No ${process} holds the Lease.`);
    const renewed = await renewedLease(first, read, clock);
    if (renewed === undefined)
      return problem(
        `"${first.holder}" holds the Lease and does not renew it; look at the log of ${process}.`,
      );
    const age = spanText((clock.now() - renewed.renewedAt) / 1000);
    const message = `"${renewed.holder}" holds the Lease and renewed it ${age} ago.`;
    return plainItem(object, ["ok", "Leading"], message);
  } catch (error) {
    if (!isKubeError(error, "NotFound")) return forbiddenItem(object, error);
    const missing = `The Lease does not exist; start ${process}, or set --latchkey-namespace.`;
    return plainItem(object, ["problem", "NotFound"], missing);
  }
}

interface Lease {
  readonly holder: string;
  /** Milliseconds since the epoch. */
  readonly renewedAt: number;
  readonly seconds: number;
}

function leaseOf(raw: unknown): Lease {
  const spec = recordAt(raw, "spec");
  return {
    holder: stringAt(spec, "holderIdentity") ?? "",
    renewedAt: instantOf(stringAt(spec, "renewTime")) ?? 0,
    seconds: numberAt(spec, "leaseDurationSeconds") ?? 15,
  };
}

/**
 * A controller renews the Lease every 2 s. If it looks old, because the controller is frozen or the
 * clocks differ, its next renewal decides.
 */
async function renewedLease(
  first: Lease,
  read: () => Promise<Lease>,
  clock: Clock,
): Promise<Lease | undefined> {
  const lifetimeMs = first.seconds * 1000;
  if (clock.now() - first.renewedAt < lifetimeMs / 3) return first;
  const look = async () => {
    const lease = await read();
    return lease.renewedAt !== first.renewedAt ? lease : undefined;
  };
  return waitUntil(look, lifetimeMs, { clock });
}
