import { annotations, labels } from "../../src/api/names.ts";
import { remove } from "../support/bare-client.ts";
import {
  createRequest,
  ownPath,
  secretPath,
  sharedSecretPath,
  toProjects,
} from "../support/bench-objects.ts";
import type { Ask } from "../support/cluster-connection.ts";
import { type Change, changeBeside, changeOf, type Sort, sorts } from "./change.ts";
import {
  canary,
  derivedPath,
  goesTo,
  homes,
  merge,
  ownValues,
  placeholders,
  requester,
  secretValue,
  targets,
  users,
} from "./objects.ts";
import {
  type OwnSlot,
  pick,
  type PlaceholderSlot,
  type SecretSlot,
  type TargetSlot,
  weighted,
} from "./slots.ts";

/** How long expired keys and tokens are kept, in seconds: flags of the soaked controller. */
export const removedAfter = 10;

const shortTtls = [5, 10, 15, 20] as const;
const longTtl = 3_600;
const projectLists = ["web", "pay, ops", "web, pay", "*", "nobody", null] as const;
const rules = [
  { name: "readers", verbs: ["get"], teams: ["soak-devs", "soak-ops"] },
  { name: "watchers", verbs: ["get", "list", "watch"], users: users.slice(0, 3) },
  {
    name: "editors",
    verbs: ["get", "update", "patch"],
    users: users.slice(2, 5),
    subresources: ["status"],
  },
  { name: "keepers", verbs: ["*"], users: users.slice(4) },
  // Grants nothing: the verb create cannot be limited to one object.
  { name: "mistaken", verbs: ["create"], users },
] as const;

/** A merge patch that takes the mark of its source from a Secret. */
const unmarked = { metadata: { labels: { [labels.sourceUid]: null } } };

/** A bounded population of all kinds that Latchkey watches, and random changes of it. */
export class Population {
  readonly #random: () => number;
  readonly #secrets: readonly SecretSlot[];
  readonly #keys: readonly OwnSlot[];
  readonly #tokens: readonly OwnSlot[];
  readonly #targets: readonly TargetSlot[] = targets.map((name) => ({
    isBusy: false,
    name,
    project: undefined,
    isOpen: true,
  }));
  readonly #placeholders: readonly PlaceholderSlot[] = placeholders.map((place) => ({
    ...place,
    isBusy: false,
  }));
  #number = 0;

  constructor(random: () => number) {
    this.#random = random;
    const empty = { isBusy: false, isThere: false };
    this.#secrets = Array.from({ length: 20 }, (_, index) => ({
      ...empty,
      namespace: homes[index % homes.length] ?? "",
      name: `shared-${index}`,
      projects: undefined,
    }));
    const owned = (): readonly OwnSlot[] =>
      Array.from({ length: 30 }, (_, index) => ({
        ...empty,
        name: "",
        user: users[index % users.length] ?? "",
        endsAt: Infinity,
      }));
    this.#keys = owned();
    this.#tokens = owned();
  }

  /**
   * The next random change; `now` is in seconds since the soak began. An object is not changed
   * while a change of it is pending: the conflicts would slow down an API server that is already
   * slow. Undefined if nearly all objects wait for a response.
   */
  next(now: number): Change | undefined {
    for (let tries = 0; tries < 10; tries += 1) {
      const found = this.one(weighted(sorts, this.#random), now);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * A change of one kind; creates an object if there is nothing to change. Undefined if all objects
   * wait for a response.
   */
  one(sort: Sort, now: number): Change | undefined {
    this.#number += 1;
    switch (sort) {
      case "data":
        return this.#ofSecret(sort, (path) => merge(path, { spec: { data: this.#data() } }));
      case "access":
        return this.#ofSecret(sort, (path) => merge(path, { spec: { access: this.#rules() } }));
      case "projects":
        return this.#ofSecret(sort, (path, slot) => {
          const projects = pick(projectLists, this.#random);
          slot.projects = projects ?? undefined;
          return merge(path, { metadata: toProjects(projects) });
        });
      case "sharedsecret":
        return this.#ofSecret(sort, (path, slot) => {
          slot.isThere = false;
          return remove(path);
        });
      case "copy edited":
        return this.#ofCopy(sort, (path) =>
          merge(path, { data: { password: secretValue("edited"), added: secretValue("added") } }),
        );
      case "copy deleted":
        return this.#ofCopy(sort, remove);
      case "copy unmarked":
        return this.#ofCopy(sort, (path) => merge(path, unmarked));
      case "placeholder asks":
        return this.#ofPlaceholder(sort, () => this.#request());
      case "placeholder edited":
        return this.#ofPlaceholder(sort, () =>
          this.#random() < 0.5 ? { data: { added: ownValues.added } } : unmarked,
        );
      case "namespace":
        return this.#ofIdle(this.#targets, (target) => this.#moveNamespace(target));
      case "bindings deleted": {
        const path = derivedPath("rolebindings", pick(homes, this.#random));
        return changeBeside({ isBusy: false }, sort, remove(path));
      }
      case "key":
        return this.#ofIdle(this.#keys, (slot) => this.#changeKey(slot, now));
      case "token":
        return this.#ofIdle(this.#tokens, (slot) => this.#changeToken(slot, now));
    }
  }

  #ofIdle<T extends { readonly isBusy: boolean }>(
    slots: readonly T[],
    work: (slot: T) => Change,
  ): Change | undefined {
    const idle = slots.filter(({ isBusy }) => !isBusy);
    const slot = pick(idle, this.#random);
    return slot === undefined ? undefined : work(slot);
  }

  /** A change of a SharedSecret, which is created if it does not exist. */
  #ofSecret(sort: Sort, requestOf: (path: string, slot: SecretSlot) => Ask): Change | undefined {
    return this.#ofIdle(this.#secrets, (slot) =>
      slot.isThere
        ? changeOf(slot, sort, requestOf(sharedSecretPath(slot.namespace, slot.name), slot))
        : this.#createSecret(slot),
    );
  }

  /** A change of a copy, or of the data of a SharedSecret without copies. */
  #ofCopy(sort: Sort, requestOf: (path: string) => Ask): Change | undefined {
    return this.#ofIdle(this.#secrets, (slot) => {
      if (!slot.isThere) return this.#createSecret(slot);
      const copy = this.#copyOf(slot);
      if (copy !== undefined) return changeBeside(slot, sort, requestOf(copy));
      const path = sharedSecretPath(slot.namespace, slot.name);
      return changeOf(slot, "data", merge(path, { spec: { data: this.#data() } }));
    });
  }

  #ofPlaceholder(sort: Sort, bodyOf: () => object): Change | undefined {
    return this.#ofIdle(this.#placeholders, (slot) =>
      changeBeside(slot, sort, merge(secretPath(slot.namespace, slot.name), bodyOf())),
    );
  }

  /** Half of them reuse the previous name. */
  #createSecret(slot: SecretSlot): Change {
    if (this.#random() < 0.5)
      slot.name = `${slot.name.replace(/-then-\d+$/, "")}-then-${this.#number}`;
    const projects = pick(projectLists, this.#random);
    Object.assign(slot, { isThere: true, projects: projects ?? undefined });
    const request = createRequest(
      "SharedSecret",
      { namespace: slot.namespace, name: slot.name, ...(projects && toProjects(projects)) },
      { data: this.#data(), owner: { team: "soak-ops" }, access: this.#rules() },
    );
    return changeOf(slot, "sharedsecret", request);
  }

  #moveNamespace(target: TargetSlot): Change {
    const change = (metadata: object): Change =>
      changeBeside(target, "namespace", merge(`/api/v1/namespaces/${target.name}`, { metadata }));
    if (this.#random() < 0.2) {
      target.isOpen = !target.isOpen;
      return change({ annotations: { [annotations.sync]: target.isOpen ? "enabled" : null } });
    }
    const project = pick(["web", "web", "pay", "pay", "ops", null], this.#random);
    target.project = project ?? undefined;
    return change({ labels: { [labels.project]: project } });
  }

  #changeKey(slot: OwnSlot, now: number): Change {
    if (!slot.isThere || slot.endsAt <= now) {
      const ttl = this.#settle(slot, "key", now);
      const value = this.#random() < 0.1 ? "shared-by-many" : slot.name;
      const spec = { user: slot.user, key: `${canary}key-${value}-0123456789`, ttl };
      const create = createRequest("OwnedAccessKey", { name: slot.name }, spec);
      return changeOf(slot, "key", create, requester(slot.user));
    }
    const path = ownPath("ownedaccesskeys", slot.name);
    if (this.#random() < 0.5)
      return changeOf(slot, "key", merge(path, { spec: { disabled: this.#random() < 0.7 } }));
    slot.isThere = false;
    return changeOf(slot, "key", remove(path));
  }

  #changeToken(slot: OwnSlot, now: number): Change {
    if (!slot.isThere || slot.endsAt <= now) {
      const ttl = this.#settle(slot, "token", now);
      const create = createRequest("DirectClusterEndpointToken", { name: slot.name }, { ttl });
      return changeOf(slot, "token", create, requester(slot.user));
    }
    slot.isThere = false;
    return changeOf(slot, "token", remove(ownPath("directclusterendpointtokens", slot.name)));
  }

  /** Assigns a new object to a slot; returns its ttl. */
  #settle(slot: OwnSlot, kind: string, now: number): number {
    const ttl = this.#random() < 0.4 ? pick(shortTtls, this.#random) : longTtl;
    Object.assign(slot, {
      isThere: true,
      name: `soak-${kind}-${this.#number}`,
      endsAt: now + ttl + removedAfter,
    });
    return ttl;
  }

  /** Labels that ask for a SharedSecret, which does not always exist, or for none. */
  #request(): object {
    const slot = this.#random() < 0.2 ? undefined : pick(this.#secrets, this.#random);
    const picked = this.#random() < 0.3 ? "PASS=password" : null;
    return {
      metadata: {
        labels: {
          [labels.sharedSecretName]: slot?.name ?? null,
          [labels.sharedSecretNamespace]: slot?.namespace ?? null,
        },
        annotations: { [annotations.syncKeys]: picked },
      },
    };
  }

  /** One of the expected copies. */
  #copyOf({ projects, name }: SecretSlot): string | undefined {
    const wanted = this.#targets.filter(
      ({ project, isOpen }) => isOpen && goesTo(projects, project),
    );
    const target = pick(wanted, this.#random);
    return target === undefined ? undefined : secretPath(target.name, name);
  }

  #data(): object {
    const password = secretValue(this.#number, 20 + Math.floor(this.#random() * 2_000));
    return {
      password,
      [`part-${Math.floor(this.#random() * 3)}`]:
        this.#random() < 0.5 ? secretValue("part") : secretValue("other part"),
    };
  }

  #rules(): readonly object[] {
    return rules.filter(({ name }) => this.#random() < (name === "mistaken" ? 0.05 : 0.4));
  }
}
