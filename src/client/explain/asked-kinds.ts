import { type Resource, resources } from "../../api/resources.ts";
import { ConfigError, objectName } from "../../runtime/config-values.ts";

/** The kinds that `why` explains, by their word in `KIND/NAME`. */
export const askedKinds = {
  secret: { resource: resources.secrets, help: "the copy in the namespace" },
  shsec: { resource: resources.sharedSecrets, help: "a SharedSecret with all its targets" },
  oak: { resource: resources.ownedAccessKeys, help: "an access key" },
  dcet: { resource: resources.endpointTokens, help: "a direct token" },
} as const satisfies Readonly<Record<string, { resource: Resource; help: string }>>;

/** A word of {@link askedKinds}. */
export type AskedKind = keyof typeof askedKinds;

const kinds: ReadonlyMap<string, AskedKind> = new Map(
  (["secret", "shsec", "oak", "dcet"] as const satisfies readonly AskedKind[]).flatMap((kind) =>
    [kind, ...wordsFor(askedKinds[kind].resource)].map((word) => [word, kind] as const),
  ),
);

function wordsFor({ kind, plural, group }: Resource): readonly string[] {
  const names = [kind.toLowerCase(), plural];
  return group === "" ? names : [...names, ...names.map((name) => `${name}.${group}`)];
}

/** An object as an argument names it. */
interface AskedObject {
  readonly kind: AskedKind;
  readonly name: string;
}

/**
 * Splits `KIND/NAME`, whose kind may also be written as kubectl takes it, such as `secrets`;
 * undefined for another word.
 */
export function askedObject(word: string): AskedObject | undefined {
  const slash = word.indexOf("/");
  const kind = kinds.get(word.slice(0, Math.max(slash, 0)).toLowerCase());
  return kind === undefined ? undefined : { kind, name: word.slice(slash + 1) };
}

/**
 * Reads `KIND/NAME`; throws a ConfigError for another word, or a name that the kind cannot have.
 */
export function parseAsked(word: string, option: string): AskedObject {
  const asked = askedObject(word);
  if (asked === undefined)
    throw new ConfigError(
      option,
      word,
      "must be one of secret/NAME, shsec/NAME, oak/NAME and dcet/NAME",
    );
  objectName(askedKinds[asked.kind].resource.kind, "database")(asked.name, option);
  return asked;
}
