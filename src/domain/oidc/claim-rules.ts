import { isRecord, ownValue } from "../../api/parse.ts";

/** What a token must say, so that a key trusts it: the value of one claim. */
export interface ClaimRule {
  /** The name of a claim, or the JSON pointer (RFC 6901) of a nested one, with its slash. */
  readonly name: string;
  /** The value; with {@link isPrefix}, what it begins with. */
  readonly value: string;
  readonly isPrefix: boolean;
}

/** The rules of a text, or what is wrong with it: a sentence without a period. */
type ClaimRules =
  | { readonly kind: "rules"; readonly rules: readonly ClaimRule[] }
  | { readonly kind: "refused"; readonly problem: string };

/** The claims of a verified token. */
export type Claims = Readonly<Record<string, unknown>>;

/** A rule that a token does not meet, for who may read both. */
interface ClaimMismatch {
  readonly rule: ClaimRule;
  /** What the claim is; undefined for one that the token does not have. */
  readonly claim: unknown;
}

/** Bounds of the annotation, in characters. */
const [mostRules, longestName, longestValue] = [16, 256, 1024];

/**
 * Parses the annotation `management.service/claims`: a line `name=value` for each rule. A name
 * stands once, and a `*` at the end of a value, after `/` or `:`, matches what follows.
 */
export function parseClaimRules(text: string): ClaimRules {
  const lines = text.replace(/\n$/, "").split("\n");
  if (lines.length > mostRules) return refused(`it has more than ${mostRules} lines`);
  const rules: ClaimRule[] = [];
  for (const [at, line] of lines.entries()) {
    const rule = ruleIn(line);
    if (typeof rule === "string") return refused(`line ${at + 1} ${rule}`);
    if (rules.some(({ name }) => name === rule.name))
      return refused(`line ${at + 1} names a claim of another line; a name stands once`);
    rules.push(rule);
  }
  return { kind: "rules", rules };
}

/** A rule, or what is wrong with its line: the rest of a sentence that begins with the line. */
function ruleIn(line: string): ClaimRule | string {
  const at = line.indexOf("=");
  if (at <= 0) return "must be a name, an equals sign and a value";
  const [name, value] = [line.slice(0, at), line.slice(at + 1)];
  if (name.length > longestName) return `has a name of more than ${longestName} characters`;
  if (value.length > longestValue) return `has a value of more than ${longestValue} characters`;
  if (value === "") return "has no value";
  if ([name, value].some((part) => part.trim() !== part || /\p{Cc}/u.test(part)))
    return "has a blank before or after the name or the value, or a control character";
  if (name.startsWith("/") && pointerParts(name) === undefined)
    return "has a name that is no JSON pointer; write ~1 for / and ~0 for ~ within a part";
  const star = value.indexOf("*");
  if (star < 0) return { name, value, isPrefix: false };
  if (star !== value.length - 1 || !/[/:]\*$/.test(value))
    return 'has a "*" that does not stand at the end, after "/" or ":"';
  return { name, value: value.slice(0, -1), isPrefix: true };
}

/** The names that a pointer leads through; undefined if it is none. */
function pointerParts(pointer: string): readonly string[] | undefined {
  if (/~(?![01])/.test(pointer) || pointer === "/") return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * The first rule that a token does not meet; undefined if it meets all. A claim is compared as a
 * text: a string, or true and false. A number never is one, because its text has many forms. A list
 * matches if a member does.
 */
export function claimMismatch(
  rules: readonly ClaimRule[],
  claims: Claims,
): ClaimMismatch | undefined {
  for (const rule of rules) {
    const claim = claimOf(claims, rule.name);
    const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
    if (!values.some((value) => matches(rule, value))) return { rule, claim };
  }
  return undefined;
}

function claimOf(claims: Claims, name: string): unknown {
  const parts = name.startsWith("/") ? (pointerParts(name) ?? []) : [name];
  return parts.reduce<unknown>(
    (value, part) => (isRecord(value) ? ownValue(value, part) : undefined),
    claims,
  );
}

function matches({ value, isPrefix }: ClaimRule, claim: unknown): boolean {
  const text = typeof claim === "boolean" ? String(claim) : claim;
  if (typeof text !== "string") return false;
  return isPrefix ? text.startsWith(value) && text.length > value.length : text === value;
}

function refused(problem: string): ClaimRules {
  return { kind: "refused", problem };
}
