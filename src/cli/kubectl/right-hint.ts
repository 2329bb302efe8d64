import { resources } from "../../api/resources.ts";
import { grantableVerbs } from "../../domain/shared-secret/access-rules.ts";
import { rightText } from "./missing-right.ts";

/** The messages of RBAC for a denied request (k8s.io/apiserver, responsewriters). */
const denied =
  /^(?:\S+ (?:"(?<name>[^"]*)" )?is )?forbidden: User "[^"]*" cannot (?<verb>[a-z:-]+) resource "(?<plural>[^"]+)" in API group "(?<group>[^"]*)"(?: in the namespace "(?<namespace>[^"]+)")?/i;

/** The message of the gateway and of the webhook for a request that a scope does not allow. */
const scoped = /the scope of this credential does not allow /;

/** Which right a 403 says is missing, and who may grant it; undefined for another message. */
export function rightHint(message: string): string | undefined {
  if (scoped.test(message))
    return "the scope of the key does not cover this request; use a key with a wider scope, which needs a credential that has it";
  const found = denied.exec(message)?.groups;
  const { verb, plural, group = "" } = found ?? {};
  if (verb === undefined || plural === undefined) return undefined;
  const known = Object.values(resources).find(
    (resource) => resource.plural === plural && resource.group === group,
  );
  const { namespace, name } = found ?? {};
  const right = rightText({
    verb,
    resource: { group, plural, namespaced: known?.namespaced ?? false },
    ...(namespace === undefined ? {} : { namespace }),
    ...(name ? { name } : {}),
  });
  return `you do not have the right ${right}; ${granter({ verb, plural, group, namespace, name })}`;
}

interface Denied {
  readonly verb: string;
  readonly plural: string;
  readonly group: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** Who may grant a right, as an instruction. */
function granter({ verb, plural, group, namespace, name }: Denied): string {
  const { sharedSecrets, ownedAccessKeys, endpointTokens } = resources;
  if (group !== sharedSecrets.group || verb.startsWith("impersonate")) return role(namespace);
  const isShared = plural === sharedSecrets.plural && Boolean(name);
  if (isShared && grantableVerbs.some((grantable) => grantable === verb))
    return `a user who may update the SharedSecret can add you to its spec.access, or ${role(namespace)}`;
  const isOwn = plural === ownedAccessKeys.plural || plural === endpointTokens.plural;
  return isOwn && verb === "create"
    ? "an administrator of the cluster can bind the ClusterRole latchkey-requester to you"
    : role(namespace);
}

function role(namespace: string | undefined): string {
  return namespace === undefined
    ? "an administrator of the cluster can grant it with a ClusterRole"
    : "an administrator of the namespace can grant it with a Role";
}
