import { setTimeout as pause } from "node:timers/promises";
import { annotations, apiVersion } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import { admin, type Answer, type Ask, patchTypes } from "../support/cluster-connection.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import type { InProcessRun } from "./in-process-backend.ts";
import { isAccepted, withoutNulls } from "./walk-fixture.ts";
import { type Report, reportOf } from "./walk-report.ts";
import type { Place, SecretState } from "./walk-secret-model.ts";
import type { SecretAction } from "./walk-secret-steps.ts";
import {
  keyOf,
  type NamespaceState,
  type SharedSecretState,
  type World,
} from "./walk-secret-world.ts";
import { entriesOf, firstNamespaces } from "./walk-state.ts";
import { type NamespaceWants, namespaceMetadata } from "./walk-steps.ts";

/** The namespaces of a run. */
const namespaces = ["the-home", "the-web", "the-pay"] as const;

/** All Secrets that can be in a run: those that users write, and copies of SharedSecrets. */
export const allPlaces: readonly Place[] = namespaces.flatMap((namespace) =>
  ["asking", "db", "api", "renamed"].map((name) => ({ namespace, name })),
);

/** The environment of a fixture. */
interface SecretFixtureOptions {
  readonly run: InProcessRun;
  readonly cluster: ProxiedCluster;
  readonly view: View;
}

/** The result of an action of a user. */
export interface Taken {
  readonly isAccepted: boolean;
  /** The Secret that was written, as stored in the API server. */
  readonly wrote?: { readonly place: Place; readonly state: SecretState | undefined };
}

/** Executes actions of users with SharedSecrets and placeholders, and reads what has become. */
export class SecretFixture {
  readonly #options: SecretFixtureOptions;
  #namespaces = firstNamespaces;

  constructor(options: SecretFixtureOptions) {
    this.#options = options;
  }

  /** Creates the namespaces. */
  async prepare(): Promise<void> {
    for (const [name, wants] of entriesOf(this.#namespaces)) {
      const metadata = { name: `the-${name}`, ...withoutNulls(namespaceMetadata(wants)) };
      await this.#perform({ method: "POST", path: "/api/v1/namespaces", body: { metadata } });
    }
  }

  /** Executes an action; throws if the API server neither accepts nor rejects it. */
  async take(action: SecretAction): Promise<Taken> {
    switch (action.do) {
      case "secret put":
      case "secret merge":
      case "secret delete":
        return this.#writeSecret(action);
      case "shared put":
      case "shared merge":
      case "shared delete":
        return { isAccepted: await this.#writeShared(action) };
      case "namespace":
        this.#namespaces = { ...this.#namespaces, [action.name]: action.wants };
        await this.#perform({
          method: "PATCH",
          path: `/api/v1/namespaces/the-${action.name}`,
          type: patchTypes.merge,
          body: { metadata: namespaceMetadata(action.wants) },
        });
        return { isAccepted: true };
    }
  }

  /** The SharedSecrets and namespaces. */
  async world(): Promise<World> {
    return {
      sharedSecrets: (await this.#sharedSecrets()).map(sharedSecretOf),
      namespaces: Object.fromEntries(
        entriesOf(this.#namespaces).map(([name, wants]) => [`the-${name}`, wanted(wants)]),
      ),
    };
  }

  /** The Secrets by `namespace/name`, and reasons that contain a value. */
  async secrets(): Promise<{
    readonly found: ReadonlyMap<string, SecretState>;
    readonly leaks: readonly string[];
  }> {
    const lists = await Promise.all(
      namespaces.map((namespace) => this.#read(`/api/v1/namespaces/${namespace}/secrets`)),
    );
    const items = lists.flatMap((list) => listAt(list, "items"));
    const states = items.map(secretOf);
    const leaks = items
      .filter((item) => showsValue(JSON.stringify(recordAt(item, "metadata"))))
      .map((item) => `the metadata of ${keyOf(secretOf(item))} has a value`);
    return { found: new Map(states.map((state) => [keyOf(state), state])), leaks };
  }

  /** The status of each SharedSecret. */
  async reports(): Promise<readonly Report[]> {
    const items = await this.#sharedSecrets();
    return items.map((item) =>
      reportOf({ metadata: recordAt(item, "metadata"), status: recordAt(item, "status") }),
    );
  }

  async #sharedSecrets(): Promise<readonly unknown[]> {
    const lists = await Promise.all(
      ["the-home", "the-pay"].map((namespace) =>
        this.#read(`/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`),
      ),
    );
    return lists.flatMap((list) => listAt(list, "items"));
  }

  async #writeSecret(
    action: Extract<SecretAction, { do: "secret put" | "secret merge" | "secret delete" }>,
  ): Promise<Taken> {
    const place = placeOf(action.at);
    const collection = `/api/v1/namespaces/${place.namespace}/secrets`;
    const path = `${collection}/${place.name}`;
    for (let tries = 0; tries < 50; tries += 1) {
      const answer = await this.#secretAnswer(action, { collection, path, name: place.name });
      if (answer.code === 409) {
        await pause(5);
        continue;
      }
      const state = action.do === "secret delete" ? undefined : secretOf(this.#unreal(answer));
      return isAccepted(answer)
        ? { isAccepted: true, wrote: { place, state } }
        : { isAccepted: false };
    }
    throw new Error(`Secret ${action.at} can neither be created nor replaced`);
  }

  async #secretAnswer(
    action: Extract<SecretAction, { do: "secret put" | "secret merge" | "secret delete" }>,
    {
      collection,
      path,
      name,
    }: { readonly collection: string; readonly path: string; readonly name: string },
  ): Promise<Answer> {
    switch (action.do) {
      case "secret delete":
        return this.#ask({ method: "DELETE", path });
      case "secret merge":
        return this.#ask({ method: "PATCH", path, type: patchTypes.merge, body: action.body });
      case "secret put": {
        const { metadata, ...rest } = action.secret;
        const body = { ...rest, metadata: { name, ...metadata } };
        const replaced = await this.#ask({ method: "PUT", path, body });
        return replaced.code === 404
          ? this.#ask({ method: "POST", path: collection, body })
          : replaced;
      }
    }
  }

  async #writeShared(
    action: Extract<SecretAction, { do: "shared put" | "shared merge" | "shared delete" }>,
  ): Promise<boolean> {
    const { namespace, name } = placeOf(action.at);
    const collection = `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;
    const path = `${collection}/${name}`;
    switch (action.do) {
      case "shared delete":
        if (action.byForce) await this.#merge(path, { metadata: { finalizers: null } });
        return isAccepted(await this.#ask({ method: "DELETE", path }));
      case "shared merge":
        return isAccepted(await this.#merge(path, action.body));
      case "shared put":
        return this.#putShared(action, { collection, path, name });
    }
  }

  async #putShared(
    { annotations: given, data }: Extract<SecretAction, { do: "shared put" }>,
    {
      collection,
      path,
      name,
    }: { readonly collection: string; readonly path: string; readonly name: string },
  ): Promise<boolean> {
    const body = (metadata: object) => ({
      apiVersion,
      kind: "SharedSecret",
      metadata: { name, annotations: given, ...metadata },
      spec: { data },
    });
    for (let tries = 0; tries < 50; tries += 1) {
      const standing = await this.#ask({ method: "GET", path });
      const { resourceVersion, finalizers, deletionTimestamp } = standing.metadata ?? {};
      if (standing.code === 200 && deletionTimestamp !== undefined)
        await this.#perform({ method: "GET", path }, [404]);
      const answer =
        standing.code === 404 || deletionTimestamp !== undefined
          ? await this.#ask({ method: "POST", path: collection, body: body({}) })
          : await this.#ask({ method: "PUT", path, body: body({ resourceVersion, finalizers }) });
      if (answer.code !== 409 && !(answer.code === 404 && standing.code === 200))
        return isAccepted(answer);
      await pause(5);
    }
    throw new Error(`SharedSecret ${name} can neither be created nor replaced`);
  }

  #merge(path: string, body: object): Promise<Answer> {
    return this.#ask({ method: "PATCH", path, type: patchTypes.merge, body });
  }

  /** A run waits until its controller has received what was written. */
  async #ask(request: Ask): Promise<Answer> {
    const answer = await this.#options.cluster.ask(admin, this.#real(request));
    if (request.method !== "GET")
      await this.#perform({ method: "GET", path: request.path }, [200, 404]);
    return answer;
  }

  async #perform(request: Ask, until: readonly number[] = [200, 201]): Promise<void> {
    await this.#options.run.perform([{ ...this.#real(request), by: admin, until }]);
  }

  async #read(path: string): Promise<unknown> {
    const request = this.#real({ method: "GET" as const, path });
    return this.#unreal(await this.#options.cluster.arrange(request));
  }

  #real<T>(value: T): T {
    return JSON.parse(JSON.stringify(value).replaceAll("the-", this.#options.view.prefix));
  }

  #unreal(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value).replaceAll(this.#options.view.prefix, "the-"));
  }
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
