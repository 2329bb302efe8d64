import { group, ownObjects, requesterPolicies, version } from "../../../api/names.ts";
import { listAt, numberAt, recordAt, stringAt, stringsAt } from "../../../api/parse.ts";
import type { ReportItem, ReportObject } from "../../../api/report.ts";
import { type Resource, resources } from "../../../api/resources.ts";
import { instantOf } from "../../../domain/lifetime.ts";
import { nameOf } from "../../../domain/report-object.ts";
import { isKubeError } from "../../../kube/client/kube-error.ts";
import { minorOf, serverVersion } from "../../../kube/client/server-version.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import type { Action } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodes, sentenceOf } from "../failure.ts";
import { rightText } from "../missing-right.ts";
import { type Paint, tableText, spanText } from "../output.ts";
import { waitUntil } from "../progress.ts";
import { isWell, printReport, asSentence } from "./report.ts";
import { type Check, reviewChecks } from "./review-checks.ts";

const everyMs = 2_000;

/** `kubectl latchkey check`. */
export const check: Action<"check"> = async ({ flags }, cli) => {
  const cluster = await cli.connect(flags);
  const { clock, terminal } = cli;
  const end = clock.monotonic() + flags.wait;
  const look = () => runChecks({ cluster, namespace: flags.latchkeyNamespace }, { clock });
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
    results.map(({ object, state, message }) => [nameOf(object), state, message]),
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

/** What is checked. */
interface Checked {
  readonly cluster: Cluster;
  /** The namespace that Latchkey runs in. */
  readonly namespace: string;
}

/** Dependencies of {@link runChecks}. */
interface CheckDeps {
  readonly clock: Clock;
}

/** Runs every check; rejects with a KubeError if the API server does not answer. */
export async function runChecks(checked: Checked, deps: CheckDeps): Promise<readonly ReportItem[]> {
  const checks = [
    await kubernetesCheck(checked),
    ...(await crdChecks(checked)),
    ...(await policyChecks(checked)),
    await controllerCheck(checked, deps),
    ...(await reviewChecks(checked.cluster, deps)),
    ...(await deploymentChecks(checked)),
    ...(await identityChecks(checked)),
  ];
  return checks.map((check) => ({ ...check, causes: [] }));
}

const oldestMinor = 34;

async function kubernetesCheck({ cluster }: Checked): Promise<Check> {
  const found = await serverVersion(cluster.transport);
  const minor = minorOf(found);
  const object = { kind: "APIServer", name: cluster.choice.server };
  return minor !== undefined && minor < oldestMinor
    ? {
        object,
        state: "problem",
        reason: "NotSupported",
        message: `Kubernetes ${found} is too old; Latchkey needs 1.${oldestMinor} or newer.`,
      }
    : { object, state: "ok", reason: "Supported", message: `Kubernetes ${found} is supported.` };
}

const kinds: readonly Resource[] = [
  resources.sharedSecrets,
  resources.ownedAccessKeys,
  resources.endpointTokens,
];

async function crdChecks({ cluster }: Checked): Promise<readonly Check[]> {
  const served = await cluster
    .send({ method: "GET", path: `/apis/${group}/${version}` })
    .catch((error: unknown) => {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    });
  const names = listAt(served, "resources").map((entry) => stringAt(entry, "name"));
  return kinds.map(({ plural }) => {
    const object = { kind: "CustomResourceDefinition", name: `${plural}.${group}` };
    return names.includes(plural)
      ? { object, state: "ok", reason: "Found", message: "The API server serves the kind." }
      : {
          object,
          state: "problem",
          reason: "NotFound",
          message:
            "The API server does not serve the kind; apply config/default of Latchkey with kubectl apply --server-side -k.",
        };
  });
}

function policyChecks({ cluster }: Checked): Promise<readonly Check[]> {
  const resource = resources.validatingPolicies;
  return Promise.all(
    [requesterPolicies.lock, requesterPolicies.guard].map(async (name) => {
      const object = { kind: resource.kind, name };
      try {
        await cluster.get(resource, { name });
        return { object, state: "ok", reason: "Found", message: "The policy exists." };
      } catch (error) {
        return isKubeError(error, "NotFound")
          ? {
              object,
              state: "problem",
              reason: "NotFound",
              message:
                "The policy does not exist, so no key and no token becomes valid; apply config/policies.",
            }
          : unknown(object, error);
      }
    }),
  );
}

/**
 * A controller renews the Lease every 2 s. If it looks old, because the controller is frozen or the
 * clocks differ, its next renewal decides.
 */
async function controllerCheck(
  { cluster, namespace }: Checked,
  { clock }: CheckDeps,
): Promise<Check> {
  const ref = { namespace, name: ownObjects.lease };
  const object = { kind: resources.leases.kind, ...ref };
  const read = async () => leaseOf(await cluster.get(resources.leases, ref));
  try {
    const first = await read();
    if (first.holder === "")
      return {
        object,
        state: "problem",
        reason: "NotLeading",
        message: "No controller holds the Lease.",
      };
    const isFresh = (lease: Lease) => clock.now() - lease.renewedAt < (lease.seconds * 1000) / 3;
    const look = async () => {
      const lease = await read();
      return lease.renewedAt !== first.renewedAt ? lease : undefined;
    };
    const alive = isFresh(first) ? first : await waitUntil(look, first.seconds * 1000, { clock });
    return alive === undefined
      ? {
          object,
          state: "problem",
          reason: "NotLeading",
          message: `"${first.holder}" holds the Lease and does not renew it; look at the log of latchkey controller.`,
        }
      : {
          object,
          state: "ok",
          reason: "Leading",
          message: `"${alive.holder}" holds the Lease and renewed it ${spanText((clock.now() - alive.renewedAt) / 1000)} ago.`,
        };
  } catch (error) {
    if (!isKubeError(error, "NotFound")) return unknown(object, error);
    return {
      object,
      state: "problem",
      reason: "NotFound",
      message: "The Lease does not exist; start latchkey controller, or set --latchkey-namespace.",
    };
  }
}

/** The Deployments of Latchkey, of which there is none where its processes run in another way. */
async function deploymentChecks({ cluster, namespace }: Checked): Promise<readonly Check[]> {
  const resource = resources.deployments;
  const labelSelector = "app.kubernetes.io/name=latchkey";
  try {
    const found = await cluster.select({ resource, namespace, labelSelector });
    return found.map((raw) => {
      const name = stringAt(recordAt(raw, "metadata"), "name") ?? "";
      const wanted = numberAt(recordAt(raw, "spec"), "replicas") ?? 1;
      const available = numberAt(recordAt(raw, "status"), "availableReplicas") ?? 0;
      const object = { kind: resource.kind, namespace, name };
      const pods = `${available} of ${wanted} pods are available`;
      if (numberAt(recordAt(raw, "status"), "observedGeneration") === undefined)
        return {
          ...{ object, state: "unknown", reason: "NotObserved" },
          message: "No controller of Deployments has observed it, so its pods are not known.",
        };
      return available < wanted
        ? {
            ...{ object, state: "problem", reason: "NotAvailable" },
            message: `${pods}; look at them with kubectl -n ${namespace} describe deployment ${name}.`,
          }
        : { object, state: "ok", reason: "Available", message: `${pods}.` };
    });
  } catch (error) {
    return [unknown({ kind: resource.kind, namespace }, error)];
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

async function identityChecks({ cluster }: Checked): Promise<readonly Check[]> {
  const { userInfo } = await cluster.review(resources.selfReviews, {});
  const groups = stringsAt(userInfo, "groups");
  const user = { kind: "User", name: stringAt(userInfo, "username") ?? "" };
  const { namespace } = cluster.choice;
  const asked = [
    { verb: "create", resource: resources.sharedSecrets, namespace },
    { verb: "list", resource: resources.sharedSecrets, namespace },
    { verb: "create", resource: resources.ownedAccessKeys },
    { verb: "create", resource: resources.endpointTokens },
  ] as const;
  const rights = await Promise.all(
    asked.map(async (right): Promise<Check> => {
      const { resource, ...attributes } = right;
      const status = await cluster.review(resources.selfAccessReviews, {
        resourceAttributes: { ...attributes, group, resource: resource.plural },
      });
      const isAllowed = status["allowed"] === true;
      return {
        ...{ object: user, state: "info", reason: isAllowed ? "Allowed" : "NotAllowed" },
        message: `You may ${isAllowed ? "" : "not "}${rightText(right)}.`,
      };
    }),
  );
  return [
    {
      object: user,
      state: "info",
      reason: "Authenticated",
      message: `You are in the groups ${groups.join(", ")}.`,
    },
    ...rights,
  ];
}

function unknown(object: ReportObject, error: unknown): Check {
  if (!isKubeError(error, "Forbidden")) throw error;
  const message = asSentence(sentenceOf(error));
  return { object, state: "unknown", reason: "Forbidden", message };
}
