import { isRecord, listAt, ownValue, recordAt, stringAt } from "../../api/parse.ts";
import {
  type AuthenticationConfiguration,
  authenticationKind,
} from "./authentication-configuration.ts";

/**
 * An existing AuthenticationConfiguration with the issuer of direct tokens, or why there is none.
 */
type MergedConfiguration =
  | { readonly kind: "merged"; readonly content: Readonly<Record<string, unknown>> }
  | { readonly kind: "refused"; readonly problem: string };

type Entry = Readonly<Record<string, unknown>>;

const knownVersions: readonly string[] = ["v1alpha1", "v1beta1", "v1"].map(
  (version) => `apiserver.config.k8s.io/${version}`,
);

/** The maximum number of issuers that kube-apiserver accepts. */
const mostIssuers = 64;

/**
 * Replaces the entry of our issuer in an existing file, or appends it, and keeps everything else.
 * The result has the `apiVersion` of `ours`; all versions have the same fields.
 */
export function mergeAuthenticationConfig(
  existing: unknown,
  ours: AuthenticationConfiguration,
): MergedConfiguration {
  const problem = fileProblem(existing);
  if (!isRecord(existing) || problem !== undefined) return refused(problem ?? notConfiguration);
  const entries = listAt(existing, "jwt").filter(isRecord);
  const merged = ours.jwt.reduce<readonly Entry[] | string>(
    (before, entry) => (typeof before === "string" ? before : withIssuer(before, entry)),
    entries,
  );
  if (typeof merged === "string") return refused(merged);
  if (merged.length > mostIssuers)
    return refused(
      `has ${entries.length} issuers, and kube-apiserver accepts ${mostIssuers} with the ` +
        "issuer of direct tokens; remove an issuer",
    );
  const { apiVersion, kind } = ours;
  return { kind: "merged", content: { ...existing, apiVersion, kind, jwt: merged } };
}

const notConfiguration =
  `is not an ${authenticationKind}; choose the file that ` + "--authentication-config names";

/** What makes a file unusable, whatever our issuer is. */
function fileProblem(file: unknown): string | undefined {
  if (!isRecord(file)) return notConfiguration;
  const kind = ownValue(file, "kind");
  if (kind !== authenticationKind)
    return (
      `has the kind ${quoted(kind)}, not ${authenticationKind}; choose the file that ` +
      "--authentication-config names"
    );
  const version = ownValue(file, "apiVersion");
  if (!knownVersions.some((known) => known === version))
    return `has the apiVersion ${quoted(version)}; must be one of ${knownVersions.join(", ")}`;
  const jwt = ownValue(file, "jwt") ?? [];
  if (!Array.isArray(jwt)) return "has a jwt that is not a list; correct the file";
  const broken = jwt.findIndex((entry) => issuerOf(entry) === undefined);
  return broken === -1
    ? undefined
    : `has no issuer.url in jwt[${broken}]; correct or remove the entry`;
}

/**
 * The entries with ours in place of the one with its issuer, else at the end; a text if refused.
 */
function withIssuer(entries: readonly Entry[], ours: Entry): readonly Entry[] | string {
  const url = issuerOf(ours);
  const same = entries.flatMap((entry, index) => (issuerOf(entry) === url ? [index] : []));
  const [index, duplicate] = same;
  if (duplicate !== undefined)
    return (
      `has the issuer ${quoted(url)} in jwt[${index}] and jwt[${duplicate}]; remove one of ` +
      "them"
    );
  const discoveryUrl = discoveryOf(ours);
  const other = entries.findIndex(
    (entry, at) => at !== index && discoveryUrl !== "" && discoveryOf(entry) === discoveryUrl,
  );
  if (other !== -1)
    return (
      `has the discoveryURL ${quoted(discoveryUrl)} in jwt[${other}] for another issuer; ` +
      "kube-apiserver accepts each discoveryURL once, so remove that entry or change " +
      "--discovery-url"
    );
  return index === undefined ? [...entries, ours] : entries.with(index, ours);
}

function issuerOf(entry: unknown): string | undefined {
  return stringAt(recordAt(entry, "issuer"), "url");
}

function discoveryOf(entry: unknown): string {
  return stringAt(recordAt(entry, "issuer"), "discoveryURL") ?? "";
}

/** A value of the file, short enough for a sentence. */
function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? "(none)";
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}

function refused(problem: string): MergedConfiguration {
  return { kind: "refused", problem };
}
