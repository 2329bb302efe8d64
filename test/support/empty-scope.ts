import type { Scope } from "../../src/api/scope.ts";

/** A scope without entries. */
export const emptyScope: Scope = {
  roles: [],
  projects: [],
  spaces: [],
  virtualClusters: [],
  clusters: [],
  rules: [],
};
