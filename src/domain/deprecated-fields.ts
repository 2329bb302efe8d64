import { isRecord, listAt, recordAt } from "../api/parse.ts";

/** Deprecated fields of an OwnedAccessKey (specification, Versioning 5), and what to use. */
const deprecated: readonly { readonly field: string; readonly isUsed: (spec: Readonly<Record<string, unknown>>) => boolean; readonly instead: string }[] = [
  { field: "spec.parent", isUsed: ({ parent }) => typeof parent === "string" && parent !== "", instead: "spec.identity" },
  { field: "spec.oidcLogin", isUsed: ({ oidcLogin }) => isRecord(oidcLogin), instead: "spec.identity" },
  { field: "spec.scope.rules", isUsed: (spec) => listAt(spec["scope"], "rules").length > 0, instead: "roles, projects, spaces and virtualClusters of spec.scope" },
  { field: "spec.scope.allowServiceCli", isUsed: (spec) => recordAt(spec, "scope")["allowServiceCli"] === true, instead: "spec.scope.roles with the role serviceCLI" },
];

/** A sentence for each deprecated field that a key uses; it names the field and never its value. */
export function deprecationWarnings(key: unknown): readonly string[] {
  const spec = recordAt(key, "spec");
  return deprecated.filter(({ isUsed }) => isUsed(spec)).map(({ field, instead }) => `${field} is deprecated; use ${instead}`);
}
