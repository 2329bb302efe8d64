import { SecretText } from "../api/secret-text.ts";

/** JSON of a request body, with the coats of secrets taken off: the one place outside `tokens` where that happens. */
export function encodeBody(body: unknown): string {
  return JSON.stringify(body, function reveal(this: unknown, field, value: unknown) {
    // JSON.stringify has called toJSON already: the SecretText itself is still in its holder.
    const original: unknown = typeof this === "object" && this !== null ? Reflect.get(this, field) : value;
    return original instanceof SecretText ? SecretText.reveal(original) : value;
  });
}

/** About how many bytes {@link encodeBody} makes of a body, without making them. */
export function bodySize(body: unknown): number {
  if (typeof body === "string" || body instanceof SecretText) return body.length + perValue;
  if (typeof body !== "object" || body === null) return perValue;
  let size = perValue;
  for (const [field, value] of Object.entries(body)) size += field.length + perValue + bodySize(value);
  return size;
}

/** Quotes and a comma or colon. */
const perValue = 3;

/** `text` without any secret of `body`, neither as it was sent nor decoded from base64, nor as either looks inside quotes. */
export function redact(text: string, body: unknown): string {
  return secretsIn(body)
    .filter((secret) => secret.length >= shortestRedacted)
    .sort((one, other) => other.length - one.length)
    .reduce((clean, secret) => clean.replaceAll(secret, "[secret]"), text);
}

// Shorter ones would blot out ordinary words, and the text would then tell what they are.
const shortestRedacted = 3;

function secretsIn(body: unknown): readonly string[] {
  if (body instanceof SecretText) {
    const text = SecretText.reveal(body);
    const decoded = Buffer.from(text, "base64").toString("utf8");
    return [text, decoded, quoted(text), quoted(decoded)];
  }
  if (typeof body !== "object" || body === null) return [];
  return Object.values(body).flatMap((inner: unknown) => secretsIn(inner));
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
