import { apiVersion } from "../../src/api/names.ts";
import { listAt } from "../../src/api/parse.ts";
import { copiedFrom, isPaused, mark, requestOf } from "../specification/consent.ts";
import { isRaw, nameOf, type Raw } from "../specification/raw.ts";
import { secretProblems, sidesOf, targetsOf } from "../specification/rest.ts";
import { objectsOf, type Stored } from "../specification/stored.ts";
import type { Course, Rest, Stage, WalkModel } from "./walk.ts";
import { isAccepted, WalkCluster } from "./walk-cluster.ts";
import { walkNamespaces } from "./walk-namespaces.ts";
import { rightSteps, type SecretAction, secretSteps } from "./walk-secret-steps.ts";

/** Walks with placeholders. */
export const secretModel: WalkModel<SecretAction> = {
  kind: "Placeholder",
  steps: secretSteps,
  courseOf: (stage) => new SecretCourse(stage),
};

/** The Secrets and SharedSecrets of a run, at rest as the specification says. */
class SecretCourse implements Course<SecretAction> {
  readonly #cluster: WalkCluster;
  /** The Secrets of users, as they have written them last. */
  readonly #written = new Map<string, Raw>();

  constructor(stage: Stage) {
    this.#cluster = new WalkCluster(stage);
  }

  async prepare(): Promise<void> {
    await this.#cluster.createNamespaces();
  }

  async begin(): Promise<void> {}

  take(action: SecretAction): Promise<boolean> {
    return this.#execute(action);
  }

  async atRest(): Promise<Rest> {
    const stored = await this.#stored();
    const secrets = objectsOf(stored, "secrets");
    const stale = objectsOf(stored, "sharedsecrets").filter(
      ({ metadata, status }) => status?.observedGeneration !== metadata.generation,
    );
    const problems = [
      ...secretsAtRest(stored),
      ...[...this.#written].flatMap(([at, raw]) =>
        keptProblems(raw, stored.objects.get(`secrets/${at}`)),
      ),
      ...secrets.flatMap(strayValues),
      ...stale.map(() => "the status of a SharedSecret is not about its current spec"),
    ];
    return { problems, sights: secrets.map(sightOf) };
  }

  async atEnd(): Promise<readonly string[]> {
    return (await this.atRest()).problems;
  }

  async makeRight(): Promise<void> {
    for (const action of rightSteps) await this.take(action);
  }

  /** Every Secret that asks must be filled now. */
  async atRight(): Promise<readonly string[]> {
    const { problems, sights } = await this.atRest();
    const { length: filled } = sights.filter((sight) => sight === "filled");
    return filled === 4 ? problems : [...problems, `${filled} placeholders of 4 are filled`];
  }

  async compare(): Promise<readonly string[]> {
    return [];
  }

  async #execute(action: SecretAction): Promise<boolean> {
    if (action.do === "namespace") {
      await this.#cluster.changeNamespace(action);
      return true;
    }
    const answer = await this.#answer(action);
    const wasAccepted = isAccepted(answer);
    if (wasAccepted && action.do.startsWith("secret")) {
      if (action.do === "secret delete" || !isRaw(answer)) this.#written.delete(action.at);
      else this.#written.set(action.at, answer);
    }
    return wasAccepted;
  }

  #answer(action: Exclude<SecretAction, { do: "namespace" }>) {
    const [namespace = "", name = ""] = action.at.split("/");
    const secrets = `/api/v1/namespaces/${namespace}/secrets`;
    const sharedSecrets = sharedSecretsIn(namespace);
    switch (action.do) {
      case "secret put": {
        const { metadata, ...rest } = action.secret;
        const object = { ...rest, metadata: { name, ...metadata } };
        return this.#cluster.put({ collection: secrets, object });
      }
      case "secret merge":
        return this.#cluster.merge(`${secrets}/${name}`, action.body);
      case "secret delete":
        return this.#cluster.remove(`${secrets}/${name}`);
      case "shared put": {
        const metadata = { name, annotations: action.annotations };
        const { data } = action;
        const object = { apiVersion, kind: "SharedSecret", metadata, spec: { data } };
        return this.#cluster.put({ collection: sharedSecrets, object });
      }
      case "shared merge":
        return this.#cluster.merge(`${sharedSecrets}/${name}`, action.body);
      case "shared delete":
        return this.#cluster.remove(`${sharedSecrets}/${name}`, action);
    }
  }

  /** What a run can contain, as the API server stores it. */
  async #stored(): Promise<Stored> {
    const paths = {
      sharedsecrets: ["the-home", "the-pay"].map(sharedSecretsIn),
      secrets: walkNamespaces.map((name) => `/api/v1/namespaces/the-${name}/secrets`),
      namespaces: walkNamespaces.map((name) => `/api/v1/namespaces/the-${name}`),
    };
    const objects = new Map<string, Raw>();
    for (const [plural, some] of Object.entries(paths))
      for (const found of await Promise.all(some.map((path) => this.#cluster.read(path))))
        for (const object of plural === "namespaces" ? [found] : listAt(found, "items"))
          if (isRaw(object)) objects.set(`${plural}/${nameOf(object.metadata)}`, object);
    return { objects, now: Date.now() };
  }
}

function sharedSecretsIn(namespace: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;
}

/** What is wrong with the Secrets of a run at rest, and which copies are missing. */
function secretsAtRest(stored: Stored): readonly string[] {
  const sides = sidesOf(stored);
  const missing = sides.sources
    .filter((source) => !isPaused(source))
    .flatMap((source) => [...targetsOf(source, sides)])
    .filter(([, state]) => state === "missing");
  return [
    ...sides.secrets.flatMap((secret) => secretProblems(secret, sides)),
    ...missing.map(([at]) => `${at} does not exist`),
  ];
}

const marksOfLatchkey = /^management\.service\/(?:source-uid|copy-of|filled|sync-error)$/;

/** What Latchkey has taken from a Secret of a user besides data; immutable data may cost it all. */
function keptProblems(written: Raw, left: Raw | undefined): readonly string[] {
  const name = nameOf(written.metadata);
  if (left === undefined)
    return written.immutable === true || copiedFrom(written) !== undefined
      ? []
      : [`${name} is absent`];
  return (["labels", "annotations"] as const).flatMap((marks) =>
    Object.entries(written.metadata[marks] ?? {})
      .filter(([key, value]) => !marksOfLatchkey.test(key) && left.metadata[marks]?.[key] !== value)
      .map(([key]) => `${name} has lost ${key}`),
  );
}

const shown = Buffer.from("value of ").toString("base64").slice(0, 11);

/** Values of another SharedSecret than that whose copy a Secret is, or in its metadata. */
export function strayValues(secret: Raw): readonly string[] {
  const [name, from, text] = [
    nameOf(secret.metadata),
    copiedFrom(secret),
    JSON.stringify(secret.metadata),
  ];
  const origins = Object.values(secret.data ?? {}).flatMap(
    (value) => /value of ([^,]+),/.exec(Buffer.from(value, "base64").toString())?.[1] ?? [],
  );
  return [
    ...(text.includes("value of ") || text.includes(shown)
      ? [`the metadata of ${name} has a value`]
      : []),
    ...(from === undefined || origins.every((origin) => origin === from)
      ? []
      : [`${name} has data of ${origins.join()} beside that of ${from}`]),
  ];
}

/** What a Secret is at rest, in a word for the summary. */
function sightOf(secret: Raw): string {
  const isCopied = copiedFrom(secret) !== undefined;
  if (requestOf(secret) === undefined) return isCopied ? "copies" : "foreign";
  if (!isCopied) return "not filled";
  return mark(secret, "sync-error") === undefined ? "filled" : "kept";
}
