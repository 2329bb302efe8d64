import { isRecord, recordAt, stringMapAt } from "../../src/api/parse.ts";
import type { NamespaceWants, WalkNamespace, Wanted } from "./walk-steps.ts";

/**
 * All that users have said: what the API server has stored of the object, and what the namespaces
 * want.
 */
export interface State {
  readonly object: (Wanted & { readonly by: string }) | undefined;
  readonly namespaces: Readonly<Record<WalkNamespace, NamespaceWants>>;
}

/** What the namespaces want at first. */
export const firstNamespaces: State["namespaces"] = {
  home: { project: null, sync: null, syncFrom: null },
  web: { project: "web", sync: "enabled", syncFrom: null },
  pay: { project: "pay-eu", sync: "enabled", syncFrom: null },
};

/** What users have written of an object, as the API server has stored it. */
export function wantedOf(object: unknown): Wanted {
  const metadata = recordAt(object, "metadata");
  const written = {
    annotations: stringMapAt(metadata, "annotations"),
    labels: stringMapAt(metadata, "labels"),
  };
  return isRecord(object) && "spec" in object ? { ...written, spec: object.spec } : written;
}

/** The namespaces with their names. */
export function entriesOf({
  home,
  web,
  pay,
}: State["namespaces"]): readonly (readonly [WalkNamespace, NamespaceWants])[] {
  return [
    ["home", home],
    ["web", web],
    ["pay", pay],
  ];
}
