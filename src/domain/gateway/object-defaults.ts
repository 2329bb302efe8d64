import type { ReviewedRequest } from "../../api/access-review.ts";
import { apiVersion, group, managementPath, version } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { jsonMembers } from "./json-members.ts";
import { documentStart, yamlKeys } from "./yaml-keys.ts";

const ownPath = `${managementPath}/apis/${group}/${version}`;
const sharedSecrets = resources.sharedSecrets.plural;

/**
 * The target with the namespace that is meant by an empty one (specification, "HTTP interface": an
 * empty namespace means `default`), for SharedSecrets that are named or created.
 */
export function withDefaultNamespace(method: string, target: string): string {
  if (!target.startsWith(`${ownPath}/`)) return target;
  const inDefault = `${ownPath}/namespaces/default/${sharedSecrets}`;
  const path = target.split("?", 1)[0] ?? "";
  const rest = (prefix: string): string => inDefault + target.slice(prefix.length);
  const isAt = (prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);
  const empty = `${ownPath}/namespaces//${sharedSecrets}`;
  if (isAt(empty)) return rest(empty);
  const bare = `${ownPath}/${sharedSecrets}`;
  const isNamed = path.startsWith(`${bare}/`) && path.length > bare.length + 1;
  return isNamed || (method === "POST" && path === bare) ? rest(bare) : target;
}

const kinds: ReadonlyMap<string, string> = new Map(
  [resources.sharedSecrets, resources.ownedAccessKeys, resources.endpointTokens].map(
    ({ plural, kind }) => [plural, kind],
  ),
);

/**
 * The kind of the object in the body of a request, or that a patch in it changes: one of Latchkey's
 * own kinds, or its status. Undefined for any other request.
 */
export function kindInBody(request: ReviewedRequest): string | undefined {
  if (request.kind !== "resource" || request.group !== group) return undefined;
  if (request.subresource !== "" && request.subresource !== "status") return undefined;
  return ["create", "update", "patch"].includes(request.verb)
    ? kinds.get(request.resource)
    : undefined;
}

/** How a body says what an object shall be: as a whole, or as one of three patches. */
export type BodyFormat = "json" | "yaml" | "apply" | "merge-patch" | "json-patch";

const formats: ReadonlyMap<string, BodyFormat> = new Map([
  ["application/json", "json"],
  ["application/yaml", "yaml"],
]);

const patchFormats: ReadonlyMap<string, BodyFormat> = new Map([
  ["application/apply-patch+yaml", "apply"],
  ["application/merge-patch+json", "merge-patch"],
  ["application/json-patch+json", "json-patch"],
]);

/** The format of a body by the verb and the media type; undefined if it is not read. */
export function bodyFormat(verb: string, contentType: string | undefined): BodyFormat | undefined {
  const isPatch = verb === "patch";
  const sent = contentType ?? (isPatch ? "" : "application/json");
  const type = sent.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return (isPatch ? patchFormats : formats).get(type);
}

/** A body, or why it is none; the reason quotes nothing of it. */
type CompletedBody =
  | { readonly kind: "body"; readonly text: string }
  | { readonly kind: "malformed"; readonly reason: string };

/**
 * A body with `apiVersion` and `kind` (specification, "HTTP interface": both may be left out). A
 * body that may have them stays as it is, and so does everything else in any body; kube-apiserver
 * judges it. It would answer a body without them with the whole body, secrets included.
 */
export function completedBody(
  text: string,
  { format, kind }: { readonly format: "json" | "yaml"; readonly kind: string },
): CompletedBody {
  const fields = [
    ["apiVersion", apiVersion],
    ["kind", kind],
  ] as const;
  const names = fields.map(([name]) => name);
  const absent = (found: ReadonlySet<string>) => fields.filter(([name]) => !found.has(name));
  const members = jsonMembers(text, names);
  if (members !== undefined) {
    const added = absent(members.found).map(([name, value]) => `"${name}":"${value}"`);
    const comma = members.isEmpty || added.length === 0 ? "" : ",";
    return inserted(text, members.start, added.join(",") + comma);
  }
  if (format === "json")
    return { kind: "malformed", reason: "the body of the request must be a JSON object" };
  const start = documentStart(text);
  const isInBraces = /^[ \t\r\n]*\{/.test(text.slice(start));
  const missing = absent(yamlKeys(text, names, !isInBraces));
  const at = isInBraces ? text.indexOf("{", start) + 1 : start;
  const end = isInBraces ? ", " : "\n";
  return inserted(text, at, missing.map(([name, value]) => `${name}: ${value}${end}`).join(""));
}

function inserted(text: string, at: number, added: string): CompletedBody {
  return { kind: "body", text: added === "" ? text : text.slice(0, at) + added + text.slice(at) };
}
