import { group, ownObjects, ownSelector } from "../../api/names.ts";
import { numberAt, recordAt, stringAt } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { oldestMinor } from "../../domain/kubernetes-version.ts";
import { nameOf } from "../../domain/report-object.ts";
import { minorOf, serverVersion } from "../../kube/client/server-version.ts";
import { sleep } from "../../runtime/clock.ts";
import type { Action } from "../cli.ts";
import { servedKinds } from "../cluster/agent-copies.ts";
import { credentialItems } from "../cluster/credential-items.ts";
import { exitCodes } from "../failure.ts";
import { type Paint, tableText } from "../output.ts";
import { asSentence, isWell, plainItem, printReport } from "../report.ts";
import { connectedItems } from "./connected-items.ts";
import { type Checked, forbiddenItem, leaseItem } from "./lease-item.ts";
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

/** Runs every check; rejects with a KubeError if the API server does not answer. */
async function runChecks(checked: Checked): Promise<readonly ReportItem[]> {
  const { cluster, namespace, clock } = checked;
  const served = await servedKinds(cluster);
  const connected = await connectedItems(checked, served.length > 0);
  const isConnected = served.length === 0 && connected.length > 0;
  const central = async (): Promise<readonly ReportItem[]> => [
    ...crdItems(served),
    ...(await policyItems(cluster, namespace)),
    await leaseItem(checked, { name: ownObjects.lease, process: "latchkey controller" }),
    ...(await reviewItems(cluster, checked)),
  ];
  return [
    await versionItem(checked),
    ...(isConnected ? [] : await central()),
    ...connected,
    ...(await deploymentItems(checked)),
    ...(isConnected ? [] : await credentialItems(cluster, clock.now())),
    ...(await identityItems(checked, isConnected)),
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

function crdItems(names: readonly string[]): readonly ReportItem[] {
  const { sharedSecrets, ownedAccessKeys, endpointTokens } = resources;
  return [sharedSecrets, ownedAccessKeys, endpointTokens].map(({ plural }) => {
    const object = { kind: "CustomResourceDefinition", name: `${plural}.${group}` };
    return names.includes(plural)
      ? plainItem(object, ["ok", "Found"], "The API server serves the kind.")
      : plainItem(
          object,
          ["problem", "NotFound"],
          "The API server does not serve the kind; in a central cluster, apply config/default of " +
            "Latchkey with kubectl apply --server-side -k.",
        );
  });
}

/** The Deployments of Latchkey, of which there is none where its processes run in another way. */
async function deploymentItems({ cluster, namespace }: Checked): Promise<readonly ReportItem[]> {
  const resource = resources.deployments;
  try {
    const found = await cluster.select({ resource, namespace, labelSelector: ownSelector });
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
