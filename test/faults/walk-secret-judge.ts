import { labels } from "../../src/api/names.ts";
import {
  copiedFrom,
  haveSame,
  type Place,
  type SecretState,
  settled,
  stepped,
} from "./walk-secret-model.ts";
import {
  isNamed,
  keyOf,
  namespaceAgrees,
  type NamespaceState,
  requestOf,
  type SharedSecretState,
  type World,
} from "./walk-secret-world.ts";

type Possible = SecretState | undefined;

/**
 * What can be in each Secret, after writes of users between which Latchkey may have written, too.
 * The controller can see some of these writes late: all worlds since the last rest count, in any
 * combination.
 */
export class SecretJudge {
  readonly #places: readonly Place[];
  readonly #states = new Map<string, Possible>();
  #namespaces = new Map<string, NamespaceState[]>();
  /** Whether a world was seen since the last rest: a SharedSecret of it was there, or was not. */
  #hasSeen = false;
  #sources = new Map<string, (SharedSecretState | undefined)[]>();

  constructor(places: readonly Place[]) {
    this.#places = places;
  }

  /** Records the state of a Secret as a user has written it. */
  wrote(place: Place, state: Possible): void {
    this.#states.set(keyOf(place), state);
  }

  /** Records the state of everything else. */
  sees({ namespaces, sharedSecrets }: World): void {
    for (const [name, state] of Object.entries(namespaces))
      this.#namespaces.set(name, added(this.#namespaces.get(name), state));
    const found = new Map(sharedSecrets.map((source) => [keyOf(source), source]));
    const before = this.#hasSeen ? [undefined] : [];
    this.#hasSeen = true;
    for (const key of new Set([...this.#sources.keys(), ...found.keys()]))
      this.#sources.set(key, added(this.#sources.get(key) ?? before, found.get(key)));
  }

  /** What is wrong with the Secrets at rest; from here on, they are what the model starts from. */
  atRest(found: ReadonlyMap<string, SecretState>, world: World): readonly string[] {
    this.sees(world);
    const problems = this.#places.flatMap((place) => {
      const actual = found.get(keyOf(place));
      const known = this.#states.get(keyOf(place));
      const expected = this.#possible(place, world);
      this.#states.set(keyOf(place), actual);
      return [
        ...(expected.some((state) => isMet(state, actual, known))
          ? []
          : [`${keyOf(place)} is ${textOf(actual)}, not ${expected.map(textOf).join(" or ")}`]),
        ...(actual === undefined ? [] : strayValues(actual, world)),
      ];
    });
    this.#namespaces = new Map();
    this.#sources = new Map();
    this.#hasSeen = false;
    this.sees(world);
    return problems;
  }

  #possible(place: Place, world: World): readonly Possible[] {
    const worlds = this.#worldsOf(place);
    const states: Possible[] = [this.#states.get(keyOf(place))];
    for (const state of states) {
      for (const one of worlds) {
        const next = stepped(state, place, one);
        if (!states.some((other) => textOf(other) === textOf(next) && isSameWrite(other, next)))
          states.push(next);
      }
    }
    const ends = states.map((state) => settled(state, place, world));
    return ends.filter(
      (end, at) =>
        ends.findIndex((other) => textOf(other) === textOf(end) && isSameWrite(other, end)) === at,
    );
  }

  #worldsOf({ namespace }: Place): readonly World[] {
    const sources = [...this.#sources.values()].reduce<readonly SharedSecretState[][]>(
      (combined, versions) =>
        combined.flatMap((some) =>
          versions.map((version) => (version === undefined ? some : [...some, version])),
        ),
      [[]],
    );
    return (this.#namespaces.get(namespace) ?? []).flatMap((state) =>
      sources.map((sharedSecrets) => ({ sharedSecrets, namespaces: { [namespace]: state } })),
    );
  }
}

function added<T>(versions: readonly T[] = [], state: T): T[] {
  return versions.some((version) => JSON.stringify(version) === JSON.stringify(state))
    ? [...versions]
    : [...versions, state];
}

function isSameWrite(one: Possible, other: Possible): boolean {
  return one?.uid === other?.uid && one?.resourceVersion === other?.resourceVersion;
}

/** Whether a Secret is as expected; a new one if the known one had to be deleted. */
function isMet(expected: Possible, actual: Possible, known: Possible): boolean {
  if (expected === undefined || actual === undefined) return expected === actual;
  const isRight = textOf(expected) === textOf(actual) && haveSame(expected.data, actual.data);
  const isSameObject =
    expected.uid === undefined ? actual.uid !== known?.uid : actual.uid === expected.uid;
  const isUntouched =
    expected.resourceVersion === undefined || actual.resourceVersion === expected.resourceVersion;
  return isRight && isSameObject && isUntouched;
}

/**
 * Values of a SharedSecret in a Secret of Latchkey, without the consent of both sides. Values that
 * a user has taken over by removing the annotation of a copy are not Latchkey's.
 */
export function strayValues(secret: SecretState, world: World): readonly string[] {
  const from = copiedFrom(secret);
  if (from === undefined) return [];
  const namespace = world.namespaces[secret.namespace];
  const request = requestOf(secret);
  const source = world.sharedSecrets.find((one) => keyOf(one) === from);
  const hasConsent =
    namespace !== undefined &&
    source !== undefined &&
    namespaceAgrees(source, namespace) &&
    isNamed(source, namespace, { unreadable: true }) &&
    (request === undefined ? namespace.sync === "enabled" : request.source === from);
  return hasConsent ? foreignValues(secret, from) : [`${keyOf(secret)} has data of ${from} still`];
}

function foreignValues(secret: SecretState, from: string): readonly string[] {
  const origins = Object.values(secret.data).flatMap((value) => originOf(value) ?? []);
  return origins.every((origin) => origin === from)
    ? []
    : [`${keyOf(secret)} has data of ${origins.join()} beside that of ${from}`];
}

function originOf(value: string): string | undefined {
  return /value of ([^,]+),/.exec(Buffer.from(value, "base64").toString())?.[1];
}

/** The state in short; equal texts are equal states except for uid and resourceVersion. */
export function textOf(state: Possible): string {
  if (state === undefined) return "absent";
  const { type, immutable, hasReason, data } = state;
  const shown = Object.entries(data).map(([key, value]) => `${key}: ${shownValue(value)}`);
  const marks = [state.labels, state.annotations].map((given) =>
    Object.entries(given)
      .map(([key, value]) => `${key.replace("management.service/", "")}=${shownMark(key, value)}`)
      .toSorted()
      .join(" "),
  );
  return `${type}${immutable ? ", immutable" : ""}${hasReason ? ", with a reason" : ""}, {${shown.toSorted().join("; ")}} [${marks.join(" | ")}]`;
}

function shownValue(value: string): string {
  const text = Buffer.from(value, "base64").toString();
  return text.length > 60 ? `${text.slice(0, 30)}... (${text.length})` : JSON.stringify(text);
}

function shownMark(key: string, value: string): string {
  return key === labels.sourceUid ? value.slice(0, 8) : JSON.stringify(value);
}

/** What a Secret is at rest, in a word for the summary. */
export function sightOf(secret: SecretState): string {
  const isCopied = copiedFrom(secret) !== undefined;
  if (requestOf(secret) === undefined) return isCopied ? "copies" : "foreign";
  if (!isCopied) return "not filled";
  return secret.hasReason ? "kept" : "filled";
}
