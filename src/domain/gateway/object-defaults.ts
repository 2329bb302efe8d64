import type { ReviewedRequest } from "../../api/access-review.ts";
import { apiVersion, group, managementPath, version } from "../../api/names.ts";
import { isRecord, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";

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
 * The kind of the object in the body of a request: of Latchkey's own kinds, written as a whole.
 * Undefined for any other request.
 */
export function kindInBody(request: ReviewedRequest): string | undefined {
  if (request.kind !== "resource" || request.group !== group || request.subresource !== "")
    return undefined;
  return request.verb === "create" || request.verb === "update"
    ? kinds.get(request.resource)
    : undefined;
}

/** The media types of bodies that are completed. */
export function bodyFormat(contentType: string | undefined): "json" | "yaml" | undefined {
  const type = (contentType ?? "application/json").split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/json") return "json";
  return type === "application/yaml" ? "yaml" : undefined;
}

/** A body, or why it is none; the reason quotes nothing of it. */
type CompletedBody =
  | { readonly kind: "body"; readonly text: string }
  | { readonly kind: "malformed"; readonly reason: string };

/**
 * A body with `apiVersion` and `kind` (specification, "HTTP interface": both may be left out). A
 * body that has them stays as it is, and so does everything else in any body. kube-apiserver would
 * answer a body without them with the whole body, secrets included.
 */
export function completedBody(
  text: string,
  { format, kind }: { readonly format: "json" | "yaml"; readonly kind: string },
): CompletedBody {
  const start = text.search(/[^\s]/);
  return format === "json" || text[start] === "{"
    ? completedJson(text, kind, format)
    : { kind: "body", text: completedYaml(text, kind) };
}

function completedJson(text: string, kind: string, format: "json" | "yaml"): CompletedBody {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return format === "yaml"
      ? { kind: "body", text: completedFlow(text, kind) }
      : { kind: "malformed", reason: "the body of the request is not valid JSON" };
  }
  if (!isRecord(parsed))
    return { kind: "malformed", reason: "the body of the request must be a JSON object" };
  const missing = Object.entries({ apiVersion, kind }).filter(
    ([field]) => (stringAt(parsed, field) ?? "") === "" && !Object.hasOwn(parsed, field),
  );
  if (missing.length === 0) return { kind: "body", text };
  const at = text.indexOf("{") + 1;
  const fields = missing.map(
    ([field, value]) => `${JSON.stringify(field)}:${JSON.stringify(value)}`,
  );
  const comma = Object.keys(parsed).length === 0 ? "" : ",";
  return { kind: "body", text: text.slice(0, at) + fields.join(",") + comma + text.slice(at) };
}

const flowFields = [/[{,\s]["']?apiVersion["']?\s*:/, /[{,\s]["']?kind["']?\s*:/];
const blockFields = [/^["']?apiVersion["']?[ \t]*:/m, /^["']?kind["']?[ \t]*:/m];

/** A flow mapping that is YAML alone; keys without quotes are as good as those with. */
function completedFlow(text: string, kind: string): string {
  const at = text.indexOf("{") + 1;
  const fields = Object.entries({ apiVersion, kind })
    .filter((_, index) => !flowFields[index]?.test(text))
    .map(([field, value]) => `${field}: ${value}, `);
  return text.slice(0, at) + fields.join("") + text.slice(at);
}

/** Lines of a block mapping begin with its keys; a document may begin with directives and `---`. */
function completedYaml(text: string, kind: string): string {
  const lines = Object.entries({ apiVersion, kind })
    .filter((_, index) => !blockFields[index]?.test(text))
    .map(([field, value]) => `${field}: ${value}\n`)
    .join("");
  if (lines === "") return text;
  const at = contentAt(text);
  return text.slice(0, at) + lines + text.slice(at);
}

/** Where the first document begins: behind directives, comments and `---`. */
function contentAt(text: string): number {
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end);
    if (end === -1 || !/^(?:[%#]|[ \t]*\r?$|---)/.test(line)) break;
    at = end + 1;
    if (line.startsWith("---")) return /^---[ \t]*(?:#|\r?$)/.test(line) ? at : 0;
  }
  return text.startsWith("\ufeff") ? 1 : 0;
}
