import { group, ownObjects, version } from "../../api/names.ts";
import { listAt, numberAt, recordAt, stringAt } from "../../api/parse.ts";
import type { ReportItem, ReportObject } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { oldestMinor } from "../../domain/kubernetes-version.ts";
import { instantOf, spanText } from "../../domain/lifetime.ts";
import { nameOf } from "../../domain/report-object.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { minorOf, serverVersion } from "../../kube/client/server-version.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import type { Action } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodes, sentenceOf } from "../failure.ts";
import { existing } from "../missing-right.ts";
import { type Paint, tableText } from "../output.ts";
import { waitUntil } from "../progress.ts";
import { asSentence, isWell, plainItem, printReport } from "../report.ts";
import { credentialItems } from "../cluster/credential-items.ts";
import { policyItems } from "./policy-items.ts";
import { identityItems } from "./check-rights.ts";
import { reviewItems } from "./review-items.ts";

const everyMs = 2_000;

/** `kubectl latchkey check`. */
export const check: Action<"check"> = async ({ flags }, cli) => {
  const cluster = await cli.connect(flags);
  const { clock, terminal } = cli;
  const end = clock.monotonic() + flags.wait;
  const look = () => runChecks({ cluster, namespace: flags.latchkeyNamespace, clock });
  let results = await look();
  while (!isWell(results) && clock.monotonic() < end) {
    if (terminal.isError) terminal.say("waiting until Latchkey is well ...");
    await sleep(everyMs, { clock });
    results = await look();
  }
  printReport(results, (paint) => resultsText(results, paint), { ...flags, terminal });
  return isWell(results) ? exitCodes.done.code : exitCodes.unhealthy.code;
};

function resultsText(results: readonly ReportItem[], paint: Paint): string {
  const text = tableText(
    ["OBJECT", "STATE", "MESSAGE"],
    results.map(({ object, state, message }) => [nameOf(object), state, asSentence(message)]),
  );
  // Whole lines are painted, because colors count as width in columns.
  return text
    .split("\n")
    .map((line, at) => {
      const state = results[at - 1]?.state;
      if (state === "problem") return paint(line, "bad");
      return state === "unknown" ? paint(line, "faint") : line;
    })
    .join("\n");
}

/** What is checked, and with what. */
interface Checked {
  readonly cluster: Cluster;
  /** The namespace that Latchkey runs in. */
  readonly namespace: string;
  readonly clock: Clock;
}

/** Runs every check; rejects with a KubeError if the API server does not answer. */
async function runChecks(checked: Checked): Promise<readonly ReportItem[]> {
  return [
    await versionItem(checked),
    ...(await crdItems(checked)),
    ...(await policyItems(checked.cluster, checked.namespace)),
    await leaseItem(checked),
    ...(await reviewItems(checked.cluster, checked)),
    ...(await deploymentItems(checked)),
    ...(await credentialItems(checked.cluster, checked.clock.now())),
    ...(await identityItems(checked)),
  ];
}

async function versionItem({ cluster }: Checked): Promise<ReportItem> {
  const found = await serverVersion(cluster.transport);
  const minor = minorOf(found);
  const object = { kind: "APIServer", name: cluster.choice.server };
  return minor !== undefined && minor < oldestMinor
    ? plainItem(
        object,
        ["problem", "NotSupported"],
        `Kubernetes ${found} is too old; Latchkey needs 1.${oldestMinor} or newer.`,
      )
    : plainItem(object, ["ok", "Supported"], `Kubernetes ${found} is supported.`);
}

async function crdItems({ cluster }: Checked): Promise<readonly ReportItem[]> {
  const served = await existing(() =>
    cluster.send({ method: "GET", path: `/apis/${group}/${version}` }),
  );
  const names = listAt(served, "resources").map((entry) => stringAt(entry, "name"));
  const { sharedSecrets, ownedAccessKeys, endpointTokens } = resources;
  return [sharedSecrets, ownedAccessKeys, endpointTokens].map(({ plural }) => {
    const object = { kind: "CustomResourceDefinition", name: `${plural}.${group}` };
    return names.includes(plural)
      ? plainItem(object, ["ok", "Found"], "The API server serves the kind.")
      : plainItem(
          object,
          ["problem", "NotFound"],
          "The API server does not serve the kind; " +
            "apply config/default of Latchkey with kubectl apply --server-side -k.",
        );
  });
}

/** The item of an object that is read, with what to do if it does not exist. */
async function itemOf(
  object: ReportObject,
  read: () => Promise<ReportItem>,
  missing: string,
): Promise<ReportItem> {
  try {
    return await read();
  } catch (error) {
    if (!isKubeError(error, "NotFound")) return forbiddenItem(object, error);
    return plainItem(object, ["problem", "NotFound"], missing);
  }
}

function forbiddenItem(object: ReportObject, error: unknown): ReportItem {
  if (!isKubeError(error, "Forbidden")) throw error;
  return plainItem(object, ["unknown", "Forbidden"], sentenceOf(error));
}

function leaseItem({ cluster, namespace, clock }: Checked): Promise<ReportItem> {
  const ref = { namespace, name: ownObjects.lease };
  const object = { kind: resources.leases.kind, ...ref };
  const read = async () => leaseOf(await cluster.get(resources.leases, ref));
  return itemOf(
    object,
    async () => {
      const first = await read();
      if (first.holder === "")
        return plainItem(object, ["problem", "NotLeading"], "No controller holds the Lease.");
      const renewed = await renewedLease(first, read, clock);
      if (renewed === undefined)
        return plainItem(
          object,
          ["problem", "NotLeading"],
          `"${first.holder}" holds the Lease and does not renew it; ` +
            "look at the log of latchkey controller.",
        );
      const age = spanText((clock.now() - renewed.renewedAt) / 1000);
      const message = `"${renewed.holder}" holds the Lease and renewed it ${age} ago.`;
      return plainItem(object, ["ok", "Leading"], message);
    },
    "The Lease does not exist; start latchkey controller, or set --latchkey-namespace.",
  );
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

/** The Deployments of Latchkey, of which there is none where its processes run in another way. */
async function deploymentItems({ cluster, namespace }: Checked): Promise<readonly ReportItem[]> {
  const resource = resources.deployments;
  const labelSelector = "app.kubernetes.io/name=latchkey";
  try {
    const found = await cluster.select({ resource, namespace, labelSelector });
    return found.map((raw) => deploymentItem(raw, namespace));
  } catch (error) {
    return [forbiddenItem({ kind: resource.kind, namespace }, error)];
  }
}

function deploymentItem(raw: unknown, namespace: string): ReportItem {
  const status = recordAt(raw, "status");
  const name = stringAt(recordAt(raw, "metadata"), "name") ?? "";
  const object = { kind: resources.deployments.kind, namespace, name };
  const wanted = numberAt(recordAt(raw, "spec"), "replicas") ?? 1;
  const available = numberAt(status, "availableReplicas") ?? 0;
  if (numberAt(status, "observedGeneration") === undefined)
    return plainItem(
      object,
      ["unknown", "NotObserved"],
      "No controller of Deployments has observed it, so its pods are not known.",
    );
  const pods = `${available} of ${wanted} pods are available`;
  const advice = `look at them with kubectl -n ${namespace} describe deployment ${name}`;
  return available < wanted
    ? plainItem(object, ["problem", "NotAvailable"], `${pods}; ${advice}.`)
    : plainItem(object, ["ok", "Available"], `${pods}.`);
}
