import { group, ownObjects, ownSelector, managementEntry } from "../../api/names.ts";
import { numberAt, recordAt, stringAt, stringsAt } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { oldestMinor } from "../../domain/kubernetes-version.ts";
import { nameOf } from "../../domain/report-object.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { minorOf, serverVersion } from "../../kube/client/server-version.ts";
import { sleep } from "../../runtime/clock.ts";
import type { Action } from "../cli.ts";
import { servedKinds } from "../cluster/agent-copies.ts";
import { clustersResource } from "../cluster/connect-right.ts";
import { credentialItems } from "../cluster/credential-items.ts";
import { listedClusters } from "../connection/cluster-address.ts";
import { connectionVariables } from "../connection/connection-variables.ts";
import { exitCodes } from "../failure.ts";
import { type Right, rightText } from "../missing-right.ts";
import { type Paint, tableText } from "../output.ts";
import { asSentence, isWell, plainItem, printReport } from "../report.ts";
import { connectedItems } from "./connected-items.ts";
import { issuerItems } from "./issuer-items.ts";
import { type Checked, forbiddenItem, leaseItem } from "./lease-item.ts";
import { policyItems } from "./policy-items.ts";
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
    ...(await issuerItems(checked)),
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

/** Who the user is, and what that user may do with Latchkey where its kinds are served. */
async function identityItems(
  checked: Checked,
  isConnected: boolean,
): Promise<readonly ReportItem[]> {
  const { cluster } = checked;
  const { userInfo } = await cluster.review(resources.selfReviews, {});
  const groups = stringsAt(userInfo, "groups");
  const user = { kind: "User", name: stringAt(userInfo, "username") ?? "" };
  const { namespace } = cluster.choice;
  const asked: readonly Right[] = isConnected
    ? []
    : [
        { verb: "create", resource: resources.sharedSecrets, namespace },
        { verb: "list", resource: resources.sharedSecrets, namespace },
        { verb: "create", resource: resources.ownedAccessKeys },
        { verb: "create", resource: resources.endpointTokens },
        ...(await clusterRights(checked)),
      ];
  const rights = asked.map(async (right): Promise<ReportItem> => {
    const { resource, ...attributes } = right;
    const { allowed } = await cluster.review(resources.selfAccessReviews, {
      resourceAttributes: { ...attributes, group, resource: resource.plural },
    });
    return allowed === true
      ? plainItem(user, ["info", "Allowed"], `You may ${rightText(right)}.`)
      : plainItem(user, ["info", "NotAllowed"], `You may not ${rightText(right)}.`);
  });
  const { server, key } = connectionVariables;
  const how = cluster.isOfVariables ? ` The connection is that of ${server} and ${key}.` : "";
  const own = `You are in the groups ${groups.join(", ")}.${how}`;
  return [plainItem(user, ["info", "Authenticated"], own), ...(await Promise.all(rights))];
}

const mostClusters = 16;

/** The rights to share with connected clusters, of which the list has some. */
async function clusterRights({ cluster, namespace }: Checked): Promise<readonly Right[]> {
  const listed = await listedClusters(cluster, namespace).catch((error: unknown) => {
    if (isKubeError(error, "NotFound", "Forbidden")) return {};
    throw error;
  });
  return Object.keys(listed)
    .filter((name) => name !== managementEntry)
    .slice(0, mostClusters)
    .map((name) => ({ verb: "share", resource: clustersResource, name }));
}
