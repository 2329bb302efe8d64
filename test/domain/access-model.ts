import type { Manifest, Metadata, OwnerReference } from "../../src/api/object.ts";
import { apiVersion, annotations, labels } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import {
  parseRole,
  parseRoleBinding,
  type ObservedRoleBinding,
  type ObservedRole,
} from "../../src/api/role.ts";
import type { ObservedAccess } from "../../src/domain/shared-secret/access.ts";
import { subjectKey } from "../../src/domain/shared-secret/access-rules.ts";
import {
  type DerivedRole,
  isAsWritten,
  sourceUidOf,
} from "../../src/domain/shared-secret/derived-role.ts";
import type { Write } from "../../src/domain/plan/plan.ts";

/** The SharedSecret of these tests. */
export const secret: Metadata = {
  namespace: "team-a",
  name: "database",
  uid: "uid-1",
  resourceVersion: "1",
  generation: 1,
  creationTimestamp: "2026-01-01T00:00:00Z",
  labels: {},
  annotations: {},
  finalizers: [],
};

/** All permissions, as `<subject> <verb> <resource>`. */
export type Rights = ReadonlySet<string>;

/**
 * Roles and RoleBindings of one namespace, with the rejections by the API server that matter here.
 */
export class AccessModel {
  readonly #roles = new Map<string, ObservedRole>();
  readonly #bindings = new Map<string, ObservedRoleBinding>();
  #version = 1;

  /** Stores an object as the API server would. */
  put(manifest: Manifest): void {
    this.#version += 1;
    const metadata = {
      creationTimestamp: "2026-01-01T00:00:00Z",
      uid: `object-${this.#version}`,
      ...manifest.metadata,
      resourceVersion: String(this.#version),
    };
    const raw = { ...manifest, metadata };
    if (manifest.kind === "Role") this.#roles.set(metadata.name, parseRole(raw));
    else this.#bindings.set(metadata.name, parseRoleBinding(raw));
  }

  removeRole(name: string): void {
    this.#roles.delete(name);
  }

  removeBinding(name: string): void {
    this.#bindings.delete(name);
  }

  get roles(): readonly ObservedRole[] {
    return [...this.#roles.values()];
  }

  get bindings(): readonly ObservedRoleBinding[] {
    return [...this.#bindings.values()];
  }

  seen(): ObservedAccess & { readonly secret: typeof secret } {
    const own = (seen: ObservedRole | ObservedRoleBinding): boolean =>
      sourceUidOf(seen) === secret.uid;
    const unmanaged = [...this.roles, ...this.bindings].filter(
      (seen) => sourceUidOf(seen) === undefined,
    );
    return {
      secret,
      roles: this.roles.filter(own),
      bindings: this.bindings.filter(own),
      orphanedRoles: this.roles.filter((role) => sourceUidOf(role) === "uid-0"),
      orphanedBindings: this.bindings.filter((binding) => sourceUidOf(binding) === "uid-0"),
      unmanaged: new Set(unmanaged.map(({ metadata }) => metadata.name)),
    };
  }

  /** Executes a write; throws if the API server would reject it. */
  apply(write: Write): void {
    if (write.do === "delete") {
      (write.resource === resources.roles ? this.#roles : this.#bindings).delete(write.ref.name);
    } else if (write.do === "create" || write.do === "replace") {
      this.#guard(write);
      this.put(write.object);
    }
  }

  rights(): Rights {
    const rights = new Set<string>();
    for (const { roleRef, subjects } of this.bindings) {
      for (const rule of this.#roles.get(roleRef.name)?.rules ?? []) {
        for (const subject of subjects) {
          for (const verb of rule.verbs) {
            for (const resource of rule.resources)
              rights.add(`${subjectKey(subject)} ${verb} ${resource}`);
          }
        }
      }
    }
    return rights;
  }

  #guard(write: Extract<Write, { do: "create" | "replace" }>): void {
    const { name } = write.object.metadata;
    const stored = write.resource === resources.roles ? this.#roles : this.#bindings;
    if (write.do === "create" && stored.has(name)) throw new Error(`${name} exists`);
    if (write.do === "replace" && !stored.has(name)) throw new Error(`${name} is gone`);
    if (write.resource !== resources.roleBindings) return;
    const role = this.#roles.get(name);
    if (role === undefined) throw new Error(`role ${name} is missing: the binding is refused`);
    if (!isAsWritten(secret, role))
      throw new Error(`role ${name} was edited: the binding is refused`);
  }
}

/** The permissions that the wanted Roles grant. */
export function rightsOf(wanted: readonly DerivedRole[]): Rights {
  const rights = wanted.flatMap(({ permission, subjects }) =>
    subjects.flatMap((subject) =>
      permission.verbs.flatMap((verb) => [
        `${subjectKey(subject)} ${verb} sharedsecrets`,
        ...(permission.status ? [`${subjectKey(subject)} ${verb} sharedsecrets/status`] : []),
      ]),
    ),
  );
  return new Set(rights);
}

/** Metadata of an object derived from another SharedSecret that no longer exists. */
export const leftoverMarks: {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly ownerReferences: readonly OwnerReference[];
} = {
  labels: { [labels.sourceUid]: "uid-0" },
  annotations: { [annotations.source]: "database", [annotations.rules]: "[]" },
  ownerReferences: [
    { apiVersion, kind: "SharedSecret", name: "database", uid: "uid-0", controller: true },
  ],
};
