import { group, ownObjects, requesterPolicies, version } from "../../api/names.ts";
import { listAt, numberAt, recordAt, stringAt, stringsAt } from "../../api/parse.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { instantOf } from "../../domain/lifetime.ts";
import { isKubeError } from "../../kube/errors.ts";
import { minorOf, serverVersion } from "../../kube/server-version.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Cluster } from "./cluster.ts";
import { sentenceOf } from "./failure.ts";
import { waitUntil } from "./progress.ts";

/** The result of a check; `info` is neither good nor bad. */
export interface CheckResult {
  readonly check: string;
  readonly state: "ok" | "problem" | "unknown" | "info";
  readonly detail: string;
}

/** What is checked. */
export interface Checked {
  readonly cluster: Cluster;
  /** The namespace that Latchkey runs in. */
  readonly namespace: string;
}

/** Dependencies of {@link runChecks}. */
export interface CheckDeps {
  readonly clock: Clock;
}

/** Whether no check found a problem. */
export function isWell(results: readonly CheckResult[]): boolean {
  return results.every(({ state }) => state !== "problem");
}

/** Runs every check; rejects with a KubeError if the API server does not answer. */
export async function runChecks(
  checked: Checked,
  deps: CheckDeps,
): Promise<readonly CheckResult[]> {
  return [
    await kubernetesCheck(checked),
    await crdCheck(checked),
    await policyCheck(checked),
    await controllerCheck(checked, deps),
    ...(await identityChecks(checked)),
  ];
}

const oldestMinor = 34;

async function kubernetesCheck({ cluster }: Checked): Promise<CheckResult> {
  const found = await serverVersion(cluster.transport);
  const minor = minorOf(found);
  return minor !== undefined && minor < oldestMinor
    ? {
        check: "Kubernetes",
        state: "problem",
        detail: `${found} is too old; Latchkey needs 1.${oldestMinor} or newer`,
      }
    : { check: "Kubernetes", state: "ok", detail: `${found} at ${cluster.choice.server}` };
}

const kinds: readonly Resource[] = [
  resources.sharedSecrets,
  resources.ownedAccessKeys,
  resources.endpointTokens,
];

async function crdCheck({ cluster }: Checked): Promise<CheckResult> {
  const check = "CRDs";
  const fix = "apply config/default of Latchkey with kubectl apply --server-side -k";
  const served = await cluster
    .send({ method: "GET", path: `/apis/${group}/${version}` })
    .catch((error: unknown) => {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    });
  const names = listAt(served, "resources").map((entry) => stringAt(entry, "name"));
  const missing = kinds.filter(({ plural }) => !names.includes(plural));
  return missing.length === 0
    ? { check, state: "ok", detail: kinds.map(({ plural }) => plural).join(", ") }
    : {
        check,
        state: "problem",
        detail: `${missing.map(({ plural }) => `${plural}.${group}`).join(", ")} not served; ${fix}`,
      };
}

async function policyCheck({ cluster }: Checked): Promise<CheckResult> {
  const check = "policies";
  try {
    const wanted = [requesterPolicies.lock, requesterPolicies.guard];
    const found = await Promise.all(
      wanted.map((name) =>
        cluster.get(resources.validatingPolicies, { name }).then(
          () => true,
          (error: unknown) => {
            if (isKubeError(error, "NotFound")) return false;
            throw error;
          },
        ),
      ),
    );
    const missing = wanted.filter((_, at) => found[at] !== true);
    return missing.length === 0
      ? { check, state: "ok", detail: wanted.join(", ") }
      : {
          check,
          state: "problem",
          detail: `${missing.join(", ")} missing, so no key and no token becomes valid; apply config/policies`,
        };
  } catch (error) {
    return unknown(check, error);
  }
}

/** The Lease may look old if the clocks differ: then its next renewal decides. */
async function controllerCheck(
  { cluster, namespace }: Checked,
  { clock }: CheckDeps,
): Promise<CheckResult> {
  const check = "controller";
  const ref = { namespace, name: ownObjects.lease };
  const read = async () => leaseOf(await cluster.get(resources.leases, ref));
  try {
    const first = await read();
    if (first.holder === "")
      return { check, state: "problem", detail: `no controller holds the Lease "${ref.name}"` };
    const isFresh = (lease: Lease) => clock.now() - lease.renewedAt < lease.seconds * 1000;
    const look = async () => {
      const lease = await read();
      return lease.renewedAt !== first.renewedAt ? lease : undefined;
    };
    const alive = isFresh(first) ? first : await waitUntil(look, first.seconds * 1000, { clock });
    return alive === undefined
      ? {
          check,
          state: "problem",
          detail: `"${first.holder}" holds the Lease and does not renew it; look at the log of latchkey controller`,
        }
      : { check, state: "ok", detail: `"${alive.holder}" leads` };
  } catch (error) {
    if (!isKubeError(error, "NotFound")) return unknown(check, error);
    return {
      check,
      state: "problem",
      detail: `Lease "${namespace}/${ref.name}" does not exist; start latchkey controller, or set --latchkey-namespace`,
    };
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

async function identityChecks({ cluster }: Checked): Promise<readonly CheckResult[]> {
  const { userInfo } = await cluster.review(resources.selfReviews, {});
  const groups = stringsAt(userInfo, "groups");
  const you = {
    check: "you",
    state: "info",
    detail: `${stringAt(userInfo, "username") ?? ""}, in ${groups.join(", ")}`,
  } as const;
  const { namespace } = cluster.choice;
  const asked = [
    { verb: "create", resource: resources.sharedSecrets, where: namespace },
    { verb: "list", resource: resources.sharedSecrets, where: namespace },
    { verb: "create", resource: resources.ownedAccessKeys, where: undefined },
    { verb: "create", resource: resources.endpointTokens, where: undefined },
  ] as const;
  const rights = await Promise.all(
    asked.map(async ({ verb, resource, where }): Promise<CheckResult> => {
      const status = await cluster.review(resources.selfAccessReviews, {
        resourceAttributes: {
          verb,
          group,
          resource: resource.plural,
          ...(where === undefined ? {} : { namespace: where }),
        },
      });
      const place = where === undefined ? "" : ` in namespace ${where}`;
      return {
        check: "right",
        state: "info",
        detail: `${verb} ${resource.plural}${place}: ${status["allowed"] === true ? "yes" : "no"}`,
      };
    }),
  );
  return [you, ...rights];
}

function unknown(check: string, error: unknown): CheckResult {
  if (!isKubeError(error, "Forbidden")) throw error;
  return { check, state: "unknown", detail: sentenceOf(error) };
}
