import { SecretText } from "../../api/secret-text.ts";

/**
 * The JSON of a request body with the values of its SecretTexts; the only place outside
 * `src/tokens` that reveals them.
 */
export function encodeBody(body: unknown): string {
  return JSON.stringify(body, function reveal(this: unknown, field, value: unknown) {
    // JSON.stringify has called toJSON already; the property still has the SecretText.
    const original: unknown =
      typeof this === "object" && this !== null ? Reflect.get(this, field) : value;
    return original instanceof SecretText ? SecretText.reveal(original) : value;
  });
}

/** Estimated number of bytes of {@link encodeBody}, without encoding the body. */
export function bodySize(body: unknown): number {
  if (typeof body === "string" || body instanceof SecretText) return body.length + perValue;
  if (typeof body !== "object" || body === null) return perValue;
  let size = perValue;
  for (const [field, value] of Object.entries(body))
    size += field.length + perValue + bodySize(value);
  return size;
}

/** Quotes and a comma or colon. */
const perValue = 3;

/**
 * Replaces every secret of `body` in `text` by `[secret]`: as sent, decoded from base64, and both
 * escaped as in JSON. Of a long text, which may quote the body itself, only the end is left: there
 * Kubernetes says what is wrong.
 */
export function redact(text: string, body: unknown): string {
  if (text.length <= longestRedacted) return withoutSecrets(text, body);
  const end = endOf(text, body);
  const length = `a message of ${text.length} characters`;
  return end === undefined ? `[${length}]` : `[the end of ${length}] ${withoutSecrets(end, body)}`;
}

function withoutSecrets(text: string, body: unknown): string {
  const found = new Set<string>();
  findSecrets(body, searchIn(text), found);
  if (found.size === 0) return text;
  const isSecret = new Uint8Array(text.length);
  const [words, others] = [true, false].map((is) => [...found].filter((one) => isWord(one) === is));
  for (const secret of others ?? []) mark(text, secret, isSecret);
  // What is replaced is not a part of the word next to it.
  const rest = text.replaceAll(/[^]/g, (character, at: number) =>
    isSecret[at] === 1 ? " " : character,
  );
  for (const secret of words ?? []) mark(rest, secret, isSecret);
  return Array.from(isSecret, (is, at) => {
    if (is === 0) return text[at];
    return isSecret[at - 1] === 1 ? "" : "[secret]";
  }).join("");
}

/** Marks the characters of a secret wherever the text has it. */
function mark(text: string, secret: string, isSecret: Uint8Array): void {
  const isAnywhere = !isWord(secret);
  let marked = 0;
  for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + 1)) {
    const end = at + secret.length;
    if (!isAnywhere && isPartOfWord(text, at, end)) continue;
    isSecret.fill(1, Math.max(at, marked), end);
    marked = end;
  }
}

const longestWord = 15;

/**
 * Whether a secret may be a word of any sentence, such as `secret`. Inside of a longer word it is
 * not replaced: that would garble the sentence, and show which word it is.
 */
function isWord(secret: string): boolean {
  return secret.length <= longestWord && /^[a-z._-]+$/.test(secret);
}

/** The characters that begin a word may be the end of an escape, such as `\n` or `\u003c`. */
function isPartOfWord(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - longestEscape), start);
  const isContinued = /^[-.]?\w/.test(text.slice(end, end + 2));
  return isContinued || (/\w[-.]?$/.test(before) && !escapeEnd.test(before));
}

const longestEscape = 6;
const escapeEnd = /(?:\\[abfnrtv]|\\u[\da-f]{4}|\\x[\da-f]{2}|%[\da-f]{2})$/i;

/** How far from the end of a message its last part may begin. */
const longestEnd = 512;

/** What follows the last colon of a text; undefined if a secret may begin before that. */
function endOf(text: string, body: unknown): string | undefined {
  const start = text.lastIndexOf(": ") + ": ".length;
  if (start < Math.max(": ".length, text.length - longestEnd)) return undefined;
  // Whatever begins before and ends behind the start has these two characters.
  const seam = text.slice(start - 1, start + 1);
  return hasInSecret(body, seam) ? undefined : text.slice(start);
}

/** Whether a secret has a text that JSON does not escape. */
function hasInSecret(body: unknown, part: string): boolean {
  if (body instanceof SecretText) {
    const text = SecretText.reveal(body);
    return text.includes(part) || decoded(text).includes(part);
  }
  return (
    typeof body === "object" &&
    body !== null &&
    Object.values(body).some((inner) => hasInSecret(inner, part))
  );
}

const longestRedacted = 8 * 1024;

// Redacting shorter secrets would replace ordinary words, and so reveal the secrets.
const shortestRedacted = 3;

/** Number of leading characters by which secrets are indexed. */
const longestBeginning = 8;

/**
 * Tests by its first characters whether a secret may be in the text, because a search for each of
 * 10,000 secrets is slow.
 */
function searchIn(text: string): (secret: string) => boolean {
  const beginnings = new Map<number, ReadonlySet<string>>();
  return (secret) => {
    const length = Math.min(secret.length, longestBeginning);
    if (length < shortestRedacted) return false;
    const found =
      beginnings.get(length) ??
      new Set(
        Array.from({ length: text.length - length + 1 }, (_, at) => text.slice(at, at + length)),
      );
    beginnings.set(length, found);
    return found.has(secret.slice(0, length));
  };
}

/**
 * Number of base64 characters that always decode to more than {@link longestBeginning} characters.
 */
const headLength = 40;

/** Collects all forms of the secrets of a body that may be in a text. */
function findSecrets(
  body: unknown,
  isInside: (secret: string) => boolean,
  found: Set<string>,
): void {
  if (body instanceof SecretText) {
    const text = SecretText.reveal(body);
    const isLong = text.length > headLength;
    // The first characters rule out most secrets: decoding and quoting a megabyte is slow.
    if (
      isLong &&
      formsOf(text.slice(0, headLength)).every(
        (head) => head.length > longestBeginning && !isInside(head),
      )
    )
      return;
    for (const form of formsOf(text)) if (isInside(form)) found.add(form);
  } else if (typeof body === "object" && body !== null) {
    for (const inner of Object.values(body)) findSecrets(inner, isInside, found);
  }
}

/** A secret as sent and decoded from base64, and both escaped as in JSON. */
function formsOf(text: string): readonly string[] {
  const plain = decoded(text);
  return [text, plain, quoted(text), quoted(plain)];
}

function decoded(text: string): string {
  return Buffer.from(text, "base64").toString("utf8");
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
