import { annotations, apiVersion } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import type { Course, Rest, Stage, WalkModel } from "./walk.ts";
import { isAccepted, WalkCluster } from "./walk-cluster.ts";
import { type NamespaceWants, walkNamespaces } from "./walk-namespaces.ts";
import { reportOf } from "./walk-report.ts";
import { SecretJudge, sightOf } from "./walk-secret-judge.ts";
import type { Place, SecretState } from "./walk-secret-model.ts";
import { rightSteps, type SecretAction, secretSteps } from "./walk-secret-steps.ts";
import {
  keyOf,
  type NamespaceState,
  requestOf,
  type SharedSecretState,
  type World,
} from "./walk-secret-world.ts";

/** All Secrets that can be in a run: those that users write, and copies of SharedSecrets. */
const places: readonly Place[] = walkNamespaces.flatMap((namespace) =>
  ["asking", "db", "api", "renamed"].map((name) => ({ namespace: `the-${namespace}`, name })),
);

/** Walks with placeholders. */
export const secretModel: WalkModel<SecretAction> = {
  kind: "Placeholder",
  steps: secretSteps,
  courseOf: (stage) => new SecretCourse(stage),
};

/** The Secrets and SharedSecrets of a run, each Secret compared with what the model expects. */
class SecretCourse implements Course<SecretAction> {
  readonly #cluster: WalkCluster;
  readonly #judge = new SecretJudge(places);

  constructor(stage: Stage) {
    this.#cluster = new WalkCluster(stage);
  }

  async prepare(): Promise<void> {
    await this.#cluster.createNamespaces();
  }

  async begin(): Promise<void> {
    this.#judge.sees(await this.#world());
  }

  async take(action: SecretAction): Promise<boolean> {
    const isDone = await this.#execute(action);
    this.#judge.sees(await this.#world());
    return isDone;
  }

  async atRest(): Promise<Rest> {
    const { found, leaks } = await this.#secrets();
    const reports = (await this.#sharedSecrets()).map((item) =>
      reportOf({ metadata: recordAt(item, "metadata"), status: recordAt(item, "status") }),
    );
    const stale = reports.filter(({ isCurrent }) => !isCurrent);
    const problems = [
      ...this.#judge.atRest(found, await this.#world()),
      ...leaks,
      ...stale.map(() => "the status of a SharedSecret is not about its current spec"),
    ];
    return { problems, sights: [...found.values()].map(sightOf) };
  }

  async atEnd(): Promise<readonly string[]> {
    return (await this.atRest()).problems;
  }

  async makeRight(): Promise<void> {
    for (const action of rightSteps) await this.take(action);
  }

  /** Every Secret that asks must be filled now. */
  async atRight(): Promise<readonly string[]> {
    const { problems } = await this.atRest();
    const { found } = await this.#secrets();
    const filled = [...found.values()].filter(
      (secret) => requestOf(secret) !== undefined && sightOf(secret) === "filled",
    );
    return filled.length === 4
      ? problems
      : [...problems, `${filled.length} placeholders of 4 are filled`];
  }

  async compare(): Promise<readonly string[]> {
    return [];
  }

  async #execute(action: SecretAction): Promise<boolean> {
    if (action.do === "namespace") {
      await this.#cluster.changeNamespace(action);
      return true;
    }
    const place = placeOf(action.at);
    const answer = await this.#answer(action, place);
    const wasAccepted = isAccepted(answer);
    if (wasAccepted && action.do.startsWith("secret"))
      this.#judge.wrote(place, action.do === "secret delete" ? undefined : secretOf(answer));
    return wasAccepted;
  }

  #answer(action: Exclude<SecretAction, { do: "namespace" }>, { namespace, name }: Place) {
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

  async #world(): Promise<World> {
    return {
      sharedSecrets: (await this.#sharedSecrets()).map(sharedSecretOf),
      namespaces: Object.fromEntries(
        walkNamespaces.map((name) => [`the-${name}`, wanted(this.#cluster.namespaces[name])]),
      ),
    };
  }

  /** The Secrets by `namespace/name`, and those whose metadata contain a value. */
  async #secrets() {
    const items = await this.#listed(
      walkNamespaces.map((name) => `/api/v1/namespaces/the-${name}/secrets`),
    );
    const leaks = items
      .filter((item) => showsValue(JSON.stringify(recordAt(item, "metadata"))))
      .map((item) => `the metadata of ${keyOf(secretOf(item))} has a value`);
    const found = new Map(items.map(secretOf).map((state) => [keyOf(state), state]));
    return { found, leaks };
  }

  #sharedSecrets(): Promise<readonly unknown[]> {
    return this.#listed(["the-home", "the-pay"].map(sharedSecretsIn));
  }

  async #listed(paths: readonly string[]): Promise<readonly unknown[]> {
    const lists = await Promise.all(paths.map((path) => this.#cluster.read(path)));
    return lists.flatMap((list) => listAt(list, "items"));
  }
}

function sharedSecretsIn(namespace: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;
}

function placeOf(at: string): Place {
  const [namespace = "", name = ""] = at.split("/");
  return { namespace, name };
}

function wanted({ project, sync, syncFrom }: NamespaceWants): NamespaceState {
  return {
    ...(project === null ? {} : { project }),
    ...(sync === null ? {} : { sync }),
    ...(syncFrom === null ? {} : { syncFrom }),
  };
}

function sharedSecretOf(item: unknown): SharedSecretState {
  const metadata = recordAt(item, "metadata");
  return {
    namespace: stringAt(metadata, "namespace") ?? "",
    name: stringAt(metadata, "name") ?? "",
    uid: stringAt(metadata, "uid") ?? "",
    createdAt: stringAt(metadata, "creationTimestamp") ?? "",
    isDeleting: metadata.deletionTimestamp !== undefined,
    annotations: stringMapAt(metadata, "annotations"),
    data: stringMapAt(recordAt(item, "spec"), "data"),
  };
}

function secretOf(item: unknown): SecretState {
  const metadata = recordAt(item, "metadata");
  const { [annotations.syncError]: reason, ...noted } = stringMapAt(metadata, "annotations");
  return {
    namespace: stringAt(metadata, "namespace") ?? "",
    name: stringAt(metadata, "name") ?? "",
    uid: stringAt(metadata, "uid") ?? "",
    resourceVersion: stringAt(metadata, "resourceVersion") ?? "",
    type: stringAt(item, "type") ?? "",
    immutable: recordAt({ item }, "item").immutable === true,
    data: stringMapAt(item, "data"),
    labels: stringMapAt(metadata, "labels"),
    annotations: noted,
    hasReason: reason !== undefined,
  };
}

const shown = Buffer.from("value of ").toString("base64").slice(0, 11);

function showsValue(text: string): boolean {
  return text.includes("value of ") || text.includes(shown);
}
