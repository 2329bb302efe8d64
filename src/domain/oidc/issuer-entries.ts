import { readingBounds } from "../../api/reading-bounds.ts";
import { isRecord, listAt, ownValue, recordAt, stringAt } from "../../api/parse.ts";
import { certificatesIn, isHttpsServer } from "../gateway/direct-address.ts";
import type { Claims } from "./claim-rules.ts";

/** An issuer whose tokens may be used as keys. */
export interface IssuerEntry {
  /** The `iss` of its tokens, exactly. */
  readonly url: string;
  /** Where its discovery document is, if not below the URL. */
  readonly discoveryUrl: string | undefined;
  /** Of which a token must have one, with the name of its key. */
  readonly audiences: readonly string[];
  /** The CA of its servers in PEM; undefined for the public ones. */
  readonly ca: string | undefined;
  /** Its key set in JSON, in place of discovery. */
  readonly jwks: string | undefined;
  /** What every token must say, whatever the rules of its key say. */
  readonly required: readonly RequiredClaim[];
}

/** A claim that has to be this text, as kube-apiserver compares it: no other value is one. */
interface RequiredClaim {
  readonly claim: string;
  readonly value: string;
}

/** The first claim of an issuer's rules that a token does not have; undefined if it has all. */
export function missingClaim({ required }: IssuerEntry, claims: Claims): string | undefined {
  return required.find(({ claim, value }) => stringAt(claims, claim) !== value)?.claim;
}

/** The issuers of a configuration, or the field that is not honoured and what is wrong with it. */
type IssuerEntries =
  | {
      readonly kind: "issuers";
      readonly issuers: readonly IssuerEntry[];
      /** Fields that mean nothing here and are left alone. */
      readonly ignored: readonly string[];
    }
  | { readonly kind: "refused"; readonly field: string; readonly problem: string };

/** What no issuer may have: it would trust tokens that are made for something else. */
export interface TakenNames {
  /** Audiences of the process's own service account token. */
  readonly audiences: readonly string[];
  /** Latchkey's own issuer. */
  readonly issuer: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

class Refused extends Error {
  readonly field: string;

  constructor(field: string, problem: string) {
    super(problem);
    this.field = field;
  }
}

const known = {
  "": ["apiVersion", "kind", "jwt"],
  entry: ["issuer", "claimValidationRules", "claimMappings"],
  issuer: [
    "url",
    "discoveryURL",
    "audiences",
    "audienceMatchPolicy",
    "certificateAuthority",
    "jwks",
  ],
  rule: ["claim", "requiredValue"],
} as const;

/** The data key of the ConfigMap with the issuers. */
export const issuersDataKey = "issuers.yaml";

/** Bounds of a configuration; kube-apiserver has the same one of issuers. */
const [mostIssuers, mostAudiences, mostRules, longestAudience] = [64, 16, 16, 256];

/**
 * Reads the ConfigMap `latchkey-issuers` as {@link parseIssuerEntries} does; `load` parses YAML of
 * at most so many levels, and its errors, which quote the text, are not passed on.
 */
export function issuersOf(
  raw: unknown,
  taken: TakenNames,
  load: (text: string, levels: number) => unknown,
): IssuerEntries {
  const text = stringAt(recordAt(raw, "data"), issuersDataKey) ?? "";
  const { bytes, depth } = readingBounds.issuers;
  const refused = (problem: string): IssuerEntries => ({ kind: "refused", field: "", problem });
  if (text === "") return refused("is empty");
  if (text.length > bytes) return refused(`has more than ${bytes} characters`);
  try {
    return parseIssuerEntries(load(text, depth), taken);
  } catch {
    return refused("is no YAML");
  }
}

/**
 * Reads the parsed `issuers.yaml`: kube-apiserver's AuthenticationConfiguration
 * (apiserver.config.k8s.io/v1), and `issuer.jwks`. A field that is not honoured refuses the whole:
 * what kube-apiserver would check must not be left out in silence. Only `claimMappings` is ignored,
 * because a key says who it acts as.
 */
export function parseIssuerEntries(raw: unknown, taken: TakenNames): IssuerEntries {
  try {
    if (!isRecord(raw)) throw new Refused("", "must be an object");
    onlyKnown(raw, known[""], "");
    if (stringAt(raw, "kind") !== "AuthenticationConfiguration")
      throw new Refused("kind", "must be AuthenticationConfiguration");
    if (!/^apiserver\.config\.k8s\.io\/v1(beta1)?$/.test(stringAt(raw, "apiVersion") ?? ""))
      throw new Refused("apiVersion", "must be apiserver.config.k8s.io/v1");
    const entries = listOf(raw, "jwt", "jwt", mostIssuers);
    const issuers = entries.map((entry, at) => issuerOf(entry, `jwt[${at}]`, taken));
    uniqueUrls(issuers);
    const ignored = entries.flatMap((entry, at) =>
      isRecord(entry) && Object.hasOwn(entry, "claimMappings") ? [`jwt[${at}].claimMappings`] : [],
    );
    return { kind: "issuers", issuers, ignored };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { kind: "refused", field: error.field, problem: error.message };
  }
}

function issuerOf(entry: unknown, path: string, taken: TakenNames): IssuerEntry {
  if (!isRecord(entry)) throw new Refused(path, "must be an object");
  onlyKnown(entry, known.entry, `${path}.`);
  const issuer = recordAt(entry, "issuer");
  const at = `${path}.issuer`;
  onlyKnown(issuer, known.issuer, `${at}.`);
  const url = urlAt(issuer, "url", at);
  if (url === undefined) throw new Refused(`${at}.url`, "is required");
  if (url === taken.issuer) throw new Refused(`${at}.url`, "is the issuer of direct tokens");
  const discoveryUrl = urlAt(issuer, "discoveryURL", at);
  if (discoveryUrl === url) throw new Refused(`${at}.discoveryURL`, "must not be the url");
  const jwks = textAt(issuer, "jwks", at);
  if (jwks !== undefined && discoveryUrl !== undefined)
    throw new Refused(`${at}.discoveryURL`, "means nothing beside jwks; remove one of them");
  return {
    url,
    discoveryUrl,
    audiences: audiencesOf(issuer, at, taken),
    ca: caOf(issuer, at),
    jwks,
    required: listOf(entry, "claimValidationRules", `${path}.claimValidationRules`, mostRules).map(
      (rule, number) => requiredOf(rule, `${path}.claimValidationRules[${number}]`),
    ),
  };
}

function audiencesOf(issuer: Fields, at: string, taken: TakenNames): readonly string[] {
  const path = `${at}.audiences`;
  const audiences = listOf(issuer, "audiences", path, mostAudiences).map((audience, number) => {
    const field = `${path}[${number}]`;
    if (typeof audience !== "string" || !/^[\x21-\x7e]+$/.test(audience))
      throw new Refused(field, "must be a text without blanks");
    if (audience.length > longestAudience)
      throw new Refused(field, `must have at most ${longestAudience} characters`);
    if (taken.audiences.includes(audience))
      throw new Refused(field, "is an audience of service accounts; choose one of Latchkey's own");
    return audience;
  });
  if (audiences.length === 0) throw new Refused(path, "must have an entry");
  audiences.forEach((audience, number) => {
    const within = audiences.some((other, two) => two !== number && isWithin(audience, other));
    if (within) throw new Refused(`${path}[${number}]`, "is another one, or begins with it and /");
  });
  const policy = textAt(issuer, "audienceMatchPolicy", at);
  if (policy !== undefined && policy !== "" && policy !== "MatchAny")
    throw new Refused(`${at}.audienceMatchPolicy`, "must be MatchAny");
  return audiences;
}

/** Whether a name of a key could begin in either. */
function isWithin(audience: string, other: string): boolean {
  return audience === other || audience.startsWith(`${other}/`);
}

function caOf(issuer: Fields, at: string): string | undefined {
  const text = textAt(issuer, "certificateAuthority", at);
  const certificates = text === undefined || text === "" ? undefined : certificatesIn(text);
  if (certificates === "")
    throw new Refused(`${at}.certificateAuthority`, "must be certificates in PEM");
  return certificates;
}

function requiredOf(rule: unknown, path: string): RequiredClaim {
  if (!isRecord(rule)) throw new Refused(path, "must be an object");
  onlyKnown(rule, known.rule, `${path}.`);
  const claim = textAt(rule, "claim", path) ?? "";
  if (claim === "") throw new Refused(`${path}.claim`, "is required");
  return { claim, value: textAt(rule, "requiredValue", path) ?? "" };
}

function uniqueUrls(issuers: readonly IssuerEntry[]): void {
  const urls = issuers.map(({ url }) => url);
  const twice = urls.findIndex((url, at) => urls.indexOf(url) !== at);
  if (twice >= 0) throw new Refused(`jwt[${twice}].issuer.url`, "is that of another entry");
}

function urlAt(fields: Fields, name: string, at: string): string | undefined {
  const text = textAt(fields, name, at);
  if (text === undefined || text === "") return undefined;
  if (!isHttpsServer(text))
    throw new Refused(`${at}.${name}`, "must be an https URL without credentials and query");
  return text;
}

function textAt(fields: Fields, name: string, at: string): string | undefined {
  const value = ownValue(fields, name);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new Refused(`${at}.${name}`, "must be a text");
  return value;
}

function listOf(fields: Fields, name: string, path: string, most: number): readonly unknown[] {
  const value = ownValue(fields, name);
  if (value !== undefined && value !== null && !Array.isArray(value))
    throw new Refused(path, "must be a list");
  const list = listAt(fields, name);
  if (list.length > most) throw new Refused(path, `must have at most ${most} entries`);
  return list;
}

/** The name of an unknown field is text that somebody wrote; only a word of a schema is said. */
function onlyKnown(fields: Fields, names: readonly string[], prefix: string): void {
  const found = Object.keys(fields).find((name) => !names.includes(name));
  if (found === undefined) return;
  const said = /^[A-Za-z]{1,40}$/.test(found) ? found : "(another field)";
  throw new Refused(`${prefix}${said}`, "is not honoured; remove it");
}
