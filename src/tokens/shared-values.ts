import { recordAt, stringAt } from "../api/parse.ts";
import type { SecretData } from "../api/shared-secret.ts";
import { SecretText } from "../api/secret-text.ts";

/** Decoded values by data key, in the order of the keys. */
export type PlainValues = ReadonlyMap<string, Buffer>;

/** Decodes the data of a SharedSecret for the user who asked for it. */
export function plainValues(raw: unknown): PlainValues {
  return decoded(recordAt(recordAt(raw, "spec"), "data"));
}

/** Decodes data that was read for the user who asked for it. */
export function valuesOf(data: SecretData): PlainValues {
  const texts = Object.entries(data).map(
    ([key, value]) => [key, SecretText.reveal(value)] as const,
  );
  return decoded(Object.fromEntries(texts));
}

function decoded(data: Readonly<Record<string, unknown>>): PlainValues {
  return new Map(
    Object.keys(data)
      .toSorted()
      .flatMap((key) => {
        const encoded = stringAt(data, key);
        return encoded === undefined ? [] : [[key, Buffer.from(encoded, "base64")] as const];
      }),
  );
}

/** Encodes a value for `spec.data`. */
export function encodedValue(bytes: Uint8Array): SecretText {
  return new SecretText(Buffer.from(bytes).toString("base64"));
}
