import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { type PlainValues, plainValues, valuesOf } from "../../tokens/shared-values.ts";
import type { Cluster } from "../connection/cluster.ts";
import { Failure } from "../failure.ts";
import { readFollowed } from "./followed.ts";

/** Values of a SharedSecret. */
interface FoundValues {
  readonly name: string;
  readonly values: PlainValues;
  /** The data key of `NAME.KEY`. */
  readonly key: string | undefined;
}

/** Reads the values of a SharedSecret, its own or those of the Secret that it follows. */
export async function readValues(
  { get, choice }: Pick<Cluster, "get" | "choice">,
  name: string,
): Promise<PlainValues> {
  const raw = await get(resources.sharedSecrets, { namespace: choice.namespace, name });
  const data = await readFollowed(raw, { get });
  return data === undefined ? plainValues(raw) : valuesOf(data);
}

/** Maximum number of dots at which `NAME.KEY` is split. */
const mostSplits = 5;

/**
 * Reads the values of `NAME`, or of `NAME.KEY` if there is no object `NAME.KEY` that may be read: a
 * name can have dots, and a key, too.
 */
export async function findValues(
  cluster: Pick<Cluster, "get" | "choice">,
  word: string,
): Promise<FoundValues> {
  try {
    return { name: word, values: await readValues(cluster, word), key: undefined };
  } catch (error) {
    if (!isKubeError(error, "NotFound", "Forbidden")) throw error;
    for (const { name, key } of splitsOf(word)) {
      const values = await readValues(cluster, name).catch((other: unknown) => {
        if (isKubeError(other, "NotFound", "Forbidden")) return undefined;
        throw other;
      });
      if (values?.has(key) === true) return { name, values, key };
    }
    throw error;
  }
}

/** The ways to read a word as `NAME.KEY`, the longest name first. */
export function splitsOf(word: string): readonly { readonly name: string; readonly key: string }[] {
  const parts = word.split(".");
  return parts
    .slice(1)
    .map((_, at) => ({
      name: parts.slice(0, at + 1).join("."),
      key: parts.slice(at + 1).join("."),
    }))
    .filter(({ name, key }) => name !== "" && key !== "")
    .toReversed()
    .slice(0, mostSplits);
}

/** The value of a data key of `namespace/name`; throws a Failure that names the existing keys. */
export function valueOf(values: PlainValues, name: string, key: string): Buffer {
  const found = values.get(key);
  if (found !== undefined) return found;
  const keys = values.size === 0 ? "it has no data" : `it has ${[...values.keys()].join(", ")}`;
  throw new Failure(`SharedSecret "${name}" has no data key "${key}"; ${keys}`, "notFound");
}

/** The values of the named data keys, or all if none is named; throws as {@link valueOf}. */
export function namedValues(
  values: PlainValues,
  name: string,
  keys: readonly string[],
): PlainValues {
  return keys.length === 0 ? values : new Map(keys.map((key) => [key, valueOf(values, name, key)]));
}
