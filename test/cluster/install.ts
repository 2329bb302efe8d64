import { existsSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { kubectl, type KubectlAccess } from "./kubectl.ts";

/** The checkout. */
export const repository = join(import.meta.dirname, "..", "..");

/** What of Latchkey a cluster has got. */
export interface Installation {
  /** False on a server older than 1.36, where keys and tokens stay without a known requester. */
  policies: boolean;
}

/** An object of a kubectl list, as far as waiting for it goes. */
interface Created {
  metadata: { creationTimestamp: string };
}

/** Stamps count once the policies have stood for 10 s (their age has the resolution of a second). */
const policyAgeMs = 11_000;

/** Applies CRDs, RBAC and policies as administrator and waits until the policies decide about new objects. */
export async function installLatchkey(
  access: KubectlAccess,
  report: (line: string) => void = () => {},
): Promise<Installation> {
  const installation = await applyLatchkey(access, report);
  if (installation.policies) await policiesCount(access);
  return installation;
}

/** Applies CRDs, RBAC and, from 1.36 on, policies; waits until the CRDs are served, but not for the policies' age. */
export async function applyLatchkey(access: KubectlAccess, report: (line: string) => void): Promise<Installation> {
  await apply(access, "crds");
  const crds = (await kubectl(access, ["get", "--output=name", "-k", join(repository, "crds")])).trim().split("\n");
  await kubectl(access, ["wait", "--for=condition=Established", "--timeout=60s", ...crds]);
  await apply(access, join("config", "rbac"));
  const policies = await servesMutatingPolicies(access, report);
  if (policies) await apply(access, join("config", "policies"));
  return { policies };
}

/** Waits until every policy and binding of the cluster is old enough for a requester's stamp to count. */
export async function policiesCount(access: KubectlAccess): Promise<void> {
  const kinds = ["mutatingadmissionpolicies", "validatingadmissionpolicies"];
  const bindings = ["mutatingadmissionpolicybindings", "validatingadmissionpolicybindings"];
  const kindsAndBindings = [...kinds, ...bindings].join(",");
  const policies: { items: Created[] } = JSON.parse(
    await kubectl(access, ["get", kindsAndBindings, "--selector=app.kubernetes.io/name=latchkey", "--output=json"]),
  );
  if (policies.items.length === 0) throw new Error("no policy is labelled app.kubernetes.io/name=latchkey");
  const newest = Math.max(...policies.items.map(({ metadata }) => Date.parse(metadata.creationTimestamp)));
  await eventually(() => Date.now() >= newest + policyAgeMs, { what: "the policies to be 10 s old" });
}

/** Applies a kustomize directory of the checkout on the server's side. */
export async function apply(access: KubectlAccess, directory: string): Promise<void> {
  const path = join(repository, directory);
  if (!existsSync(join(path, "kustomization.yaml"))) throw new Error(`${path} has no kustomization.yaml`);
  await kubectl(access, ["apply", "--server-side", "--force-conflicts", "-k", path]);
}

async function servesMutatingPolicies(access: KubectlAccess, report: (line: string) => void): Promise<boolean> {
  const group = "admissionregistration.k8s.io/v1";
  const served: { resources: { name: string }[] } = JSON.parse(await kubectl(access, ["get", "--raw", `/apis/${group}`]));
  if (served.resources.some(({ name }) => name === "mutatingadmissionpolicies")) return true;
  report(`the policies are not installed: they need MutatingAdmissionPolicy in ${group} (Kubernetes 1.36)`);
  return false;
}
