import { labels } from "../api/names.ts";
import { resources } from "../api/resources.ts";
import { type ObservedRole, parseRole, type PolicyRule } from "../api/role.ts";
import type { ScopeRoles } from "../domain/scope/roles.ts";
import { Informer } from "../kube/informer.ts";
import type { InformerDeps } from "../kube/informer-deps.ts";
import type { ReadStore } from "../kube/store.ts";

const roleIndex = "role";

/** The ClusterRoles that scopes name, by their label. */
export class ScopeRolesCache {
  readonly informer: Informer<ObservedRole>;
  #roles: ScopeRoles | undefined;

  /** `onChange` is called for each change of a role. */
  constructor(deps: InformerDeps, onChange: () => void) {
    this.informer = new Informer<ObservedRole>(
      {
        listOptions: { resource: resources.clusterRoles, labelSelector: labels.scopeRole },
        parse: parseRole,
        indexers: { [roleIndex]: ({ metadata }) => [metadata.labels[labels.scopeRole] ?? ""] },
        onChange: () => {
          this.#roles = undefined;
          onChange();
        },
      },
      deps,
    );
  }

  /** The rules of each role. */
  roles(): ScopeRoles {
    return (this.#roles ??= rolesByName(this.informer.store));
  }
}

function rolesByName(store: ReadStore<ObservedRole>): ScopeRoles {
  const rulesOf = (name: string): readonly PolicyRule[] =>
    store.by(roleIndex, name).flatMap(({ rules }) => rules);
  return new Map([...store.namesIn(roleIndex)].map((name) => [name, rulesOf(name)]));
}
