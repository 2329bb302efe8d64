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
 * escaped as in JSON. Replaces a long text as a whole, because it may be the body itself.
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
  const decoded = Buffer.from(text, "base64").toString("utf8");
  return [text, decoded, quoted(text), quoted(decoded)];
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
