import { isSecretName } from "../sync/data-from.ts";

/** The key that the audiences of a token name, or why there is none. */
type NamedKey =
  | { readonly kind: "key"; readonly name: string }
  | { readonly kind: "none" | "several" };

/**
 * The name in `<audience>/<name of the key>` (`aud` of RFC 7519, section 4.1.3): only the rules of
 * this key are asked, so those of another one neither take a token nor keep it from its key. Other
 * audiences, and one of the issuer without a name, do not count; with one that is no text, none
 * does.
 */
export function namedKey(aud: unknown, audiences: readonly string[]): NamedKey {
  const given: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!given.every((one) => typeof one === "string")) return { kind: "none" };
  const names = new Set(given.flatMap(namesIn));
  const [name, another] = names;
  if (name === undefined) return { kind: "none" };
  return another === undefined ? { kind: "key", name } : { kind: "several" };

  function namesIn(text: string): readonly string[] {
    const audience = audiences.find((each) => text.startsWith(`${each}/`));
    const found = audience === undefined ? "" : text.slice(audience.length + 1);
    return isSecretName(found) ? [found] : [];
  }
}
