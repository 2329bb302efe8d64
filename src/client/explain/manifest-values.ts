import { isOfKind, isRecord, recordAt } from "../../api/parse.ts";
import { apiVersionOf, resources } from "../../api/resources.ts";
import { annotationField } from "../../domain/report-object.ts";

/** Fields of a key or token that limit it; the schema refuses null in them. */
const limits = ["scope", "ttl", "disabled"];

/**
 * What is wrong with the values of an object in a file; undefined if nothing is. The API server
 * names no annotation that is no text, and a merge patch drops a null before anybody sees it.
 */
export function valueProblem(document: unknown): string | undefined {
  const annotations = recordAt(recordAt(document, "metadata"), "annotations");
  for (const [name, value] of Object.entries(annotations))
    if (typeof value !== "string" && value !== null)
      return `${annotationField(name)} must be a string; put the value in quotes`;
  if (!isKeyOrToken(document)) return undefined;
  const spec = recordAt(document, "spec");
  const found = limits.map((field) => nullIn(spec[field], `spec.${field}`));
  const path = found.find((each) => each !== undefined);
  return path === undefined ? undefined : `${path} must not be null; set it, or remove the field`;
}

function isKeyOrToken(document: unknown): boolean {
  return [resources.ownedAccessKeys, resources.endpointTokens].some((resource) =>
    isOfKind(document, apiVersionOf(resource), resource.kind),
  );
}

/** The path of the first null in a value of a document, whose aliases are bounded. */
function nullIn(value: unknown, path: string): string | undefined {
  if (value === null) return path;
  const fields: readonly (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map((entry, at) => [`[${at}]`, entry] as const)
    : isRecord(value)
      ? Object.entries(value).map(([name, inner]) => [`.${name}`, inner] as const)
      : [];
  for (const [step, inner] of fields) {
    const found = nullIn(inner, `${path}${step}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
