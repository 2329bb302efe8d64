import { SecretText } from "../api/secret-text.ts";

/**
 * JSON of a request body, with the coats of secrets taken off: the one place outside `tokens` where
 * that happens.
 */
export function encodeBody(body: unknown): string {
  return JSON.stringify(body, function reveal(this: unknown, field, value: unknown) {
    // JSON.stringify has called toJSON already: the SecretText itself is still in its holder.
    const original: unknown =
      typeof this === "object" && this !== null ? Reflect.get(this, field) : value;
    return original instanceof SecretText ? SecretText.reveal(original) : value;
  });
}

/** About how many bytes {@link encodeBody} makes of a body, without making them. */
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
 * `text` without any secret of `body`, neither as it was sent nor decoded from base64, nor as
 * either looks inside quotes. A long text may be the body itself, and is left out.
 */
export function redact(text: string, body: unknown): string {
  if (text.length > longestRedacted) return `[a message of ${text.length} characters]`;
  const found = new Set<string>();
  findSecrets(body, searchIn(text), found);
  return [...found]
    .sort((one, other) => other.length - one.length)
    .reduce((clean, secret) => clean.replaceAll(secret, "[secret]"), text);
}

const longestRedacted = 8 * 1024;

// Shorter ones would blot out ordinary words, and the text would then tell what they are.
const shortestRedacted = 3;

/** Number of leading characters by which secrets are indexed. */
const longestBeginning = 8;

/**
 * Whether a secret may be in the text, by its beginning: ten thousand secrets are not looked for
 * one by one.
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
 * Characters of base64 whose bytes are more than {@link longestBeginning} characters, whatever they
 * are.
 */
const headLength = 40;

/** Adds the secrets of a body that may be in a text, in all their forms. */
function findSecrets(
  body: unknown,
  isInside: (secret: string) => boolean,
  found: Set<string>,
): void {
  if (body instanceof SecretText) {
    const text = SecretText.reveal(body);
    const isLong = text.length > headLength;
    // Nearly all are sorted out by their first characters: a megabyte takes long to decode and to
    // quote.
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

/** A secret as it was sent and decoded, and both as they look inside quotes. */
function formsOf(text: string): readonly string[] {
  const decoded = Buffer.from(text, "base64").toString("utf8");
  return [text, decoded, quoted(text), quoted(decoded)];
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
