import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { stringAt } from "../../src/api/parse.ts";
import { eventually } from "./eventually.ts";
import { kubectl, type KubectlAccess } from "./kubectl.ts";

/** The root of the checkout. */
export const repository = join(import.meta.dirname, "..", "..");

/** What was installed in a cluster. */
export interface Installation {
  /**
   * What writes the requester annotations of keys and tokens: a policy, or before Kubernetes 1.36
   * the webhook, which must still be started.
   */
  stampedBy: "policy" | "webhook";
}

/** The fields of an object of a kubectl list that the wait needs. */
interface Created {
  metadata: { creationTimestamp: string };
}

/**
 * Requester annotations are trusted when the policies are 10 s old (their age has a resolution of
 * one second).
 */
const policyAgeMs = 11_000;

/**
 * Applies CRDs, RBAC and the policies that the server supports; waits until the CRDs are served,
 * but not for the age of the policies.
 */
export async function applyLatchkey(
  access: KubectlAccess,
  report: (line: string) => void,
): Promise<Installation> {
  await apply(access, "crds");
  const crds = (await kubectl(access, ["get", "--output=name", "-k", join(repository, "crds")]))
    .trim()
    .split("\n");
  await kubectl(access, ["wait", "--for=condition=Established", "--timeout=60s", ...crds]);
  await apply(access, join("config", "rbac"));
  const installation = await installationOf(access);
  if (installation.stampedBy === "policy") {
    await apply(access, join("config", "policies"));
    return installation;
  }
  report("the webhook stamps keys and tokens: MutatingAdmissionPolicy v1 needs Kubernetes 1.36");
  await applyValidatingPolicies(access);
  return installation;
}

/** What writes the requester annotations in a cluster of this version. */
export async function installationOf(access: KubectlAccess): Promise<Installation> {
  return { stampedBy: (await servesMutatingPolicies(access)) ? "policy" : "webhook" };
}

/**
 * Applies the validating policies one by one, because an API server before 1.36 rejects the others,
 * which it does not serve.
 */
export function applyValidatingPolicies(access: KubectlAccess): Promise<void> {
  return applyKinds(access, join("config", "policies"), /^Validating/);
}

/** Applies the gateway, with the impersonation that the server supports. */
export async function applyGateway(access: KubectlAccess): Promise<void> {
  await apply(access, await supported(access, "gateway"));
}

/** Applies what a connected cluster needs, with the impersonation that the server supports. */
export async function applyConnectedCluster(access: KubectlAccess): Promise<void> {
  await apply(access, await supported(access, "connected-cluster"));
}

/**
 * Applies the RBAC of the gateway, whose process runs outside of the cluster, its namespace and its
 * ConfigMap.
 */
export async function applyGatewayRbac(access: KubectlAccess): Promise<void> {
  const kinds = /^Namespace$|^ConfigMap$|Role(?:Binding)?$/;
  return applyKinds(access, await supported(access, "gateway"), kinds);
}

/** The kinds that a process outside of the cluster needs in it. */
const besideProcess =
  /^Namespace$|^ServiceAccount$|^Secret$|Role(?:Binding)?$|AdmissionPolicy(?:Binding)?$/;

/** Applies the RBAC and the policies of the direct endpoint, whose process runs outside of the cluster. */
export async function applyDirectEndpointRbac(access: KubectlAccess): Promise<void> {
  return applyKinds(access, await supported(access, "direct-endpoint"), besideProcess);
}

/** Applies the RBAC and the policies of the authorizer of a connected cluster, which runs outside of it. */
export async function applyDirectAuthorizerRbac(access: KubectlAccess): Promise<void> {
  return applyKinds(access, join("config", "direct-authorizer"), besideProcess);
}

/** Applies the RBAC and the policies of the agent of a connected cluster, which runs outside of it. */
export async function applyClusterAgentRbac(access: KubectlAccess): Promise<void> {
  return applyKinds(access, join("config", "cluster-agent"), besideProcess);
}

/** The directory of `config` with constrained impersonation, or the one without. */
async function supported(access: KubectlAccess, directory: string): Promise<string> {
  // Constrained impersonation came with the same version.
  const suffix = (await servesMutatingPolicies(access)) ? "" : "-before-1.36";
  return join("config", `${directory}${suffix}`);
}

/** Applies the objects of a kustomize directory whose kind matches. */
async function applyKinds(access: KubectlAccess, directory: string, kind: RegExp): Promise<void> {
  const objects = loadAll(await kubectl(access, ["kustomize", join(repository, directory)]));
  const items = objects.filter((object) => kind.test(stringAt(object, "kind") ?? ""));
  if (items.length === 0) throw new Error(`${directory} has no object of these kinds`);
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await kubectl(access, ["apply", "--server-side", "--force-conflicts", "--filename=-"], { input });
}

/**
 * Waits until every policy and binding of the cluster is old enough for requester annotations to be
 * trusted.
 */
export async function policiesCount(access: KubectlAccess): Promise<void> {
  const always = [
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
  ];
  const since136 = (await servesMutatingPolicies(access))
    ? ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]
    : [];
  const policies: { items: Created[] } = JSON.parse(
    await kubectl(access, [
      "get",
      [...always, ...since136].join(","),
      "--selector=app.kubernetes.io/name=latchkey",
      "--output=json",
    ]),
  );
  if (policies.items.length === 0)
    throw new Error("no policy is labelled app.kubernetes.io/name=latchkey");
  const newest = Math.max(
    ...policies.items.map(({ metadata }) => Date.parse(metadata.creationTimestamp)),
  );
  await eventually(() => Date.now() >= newest + policyAgeMs, {
    what: "the policies to be 10 s old",
  });
}

/** Applies a kustomize directory of the checkout with server-side apply. */
export async function apply(access: KubectlAccess, directory: string): Promise<void> {
  const path = join(repository, directory);
  if (!existsSync(join(path, "kustomization.yaml")))
    throw new Error(`${path} has no kustomization.yaml`);
  await kubectl(access, ["apply", "--server-side", "--force-conflicts", "-k", path]);
}

async function servesMutatingPolicies(access: KubectlAccess): Promise<boolean> {
  const group = "admissionregistration.k8s.io/v1";
  const served: { resources: { name: string }[] } = JSON.parse(
    await kubectl(access, ["get", "--raw", `/apis/${group}`]),
  );
  return served.resources.some(({ name }) => name === "mutatingadmissionpolicies");
}
