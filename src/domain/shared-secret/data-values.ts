import { ownValue, recordAt } from "../../api/parse.ts";
import { SecretText } from "../../api/secret-text.ts";

/** A rejected field of an object, and the message that follows the field name. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

const longestKey = 253;

/**
 * Returns the problem of the first new value of `spec.data`, by key, that is not base64, with the
 * number of others; undefined if there is none. The message contains no value.
 */
export function dataValueProblem(object: unknown, oldObject: unknown): FieldProblem | undefined {
  const [data, stored] = [dataOf(object), dataOf(oldObject)];
  const wrong = Object.keys(data)
    .filter((key) => isNew(ownValue(data, key), ownValue(stored, key)))
    .sort();
  const [first, ...others] = wrong;
  if (first === undefined) return undefined;
  const value = ownValue(data, first);
  const more =
    others.length === 0
      ? ""
      : `. ${others.length} more ${others.length === 1 ? "value" : "values"} of spec.data ` +
        `${others.length === 1 ? "is" : "are"} not base64`;
  return { field: `spec.data.${first.slice(0, longestKey)}`, message: `${whyNot(value)}${more}` };
}

function dataOf(object: unknown): Readonly<Record<string, unknown>> {
  return recordAt(recordAt(object, "spec"), "data");
}

function isNew(value: unknown, stored: unknown): boolean {
  return (stored === undefined || value !== stored) && !isBase64(value);
}

function isBase64(value: unknown): boolean {
  return typeof value === "string" && new SecretText(value).isBase64;
}

function whyNot(value: unknown): string {
  if (typeof value !== "string")
    return "must be a base64-encoded string; quote it, and encode the value with `base64 -w0`";
  if (new SecretText(value).hasLineBreak)
    return (
      "must be base64 without line breaks; encode the value with `base64 -w0` and write it " +
      "on one line"
    );
  return (
    "must be base64 (RFC 4648 section 4, with padding); encode the value with `base64 -w0`, " +
    "or copy it from " +
    "`kubectl create secret generic x --from-file=<file> --dry-run=client -o yaml`"
  );
}
