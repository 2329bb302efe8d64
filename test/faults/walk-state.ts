import { isRecord, recordAt, stringMapAt } from "../../src/api/parse.ts";
import type { NamespaceWants, WalkNamespace, Wanted } from "./walk-steps.ts";

/**
 * The desired state: the object as stored in the API server, and the labels and annotations of the
 * namespaces.
 */
export interface State {
  readonly object: (Wanted & { readonly by: string }) | undefined;
  readonly namespaces: Readonly<Record<WalkNamespace, NamespaceWants>>;
}

/** The initial namespaces. */
export const firstNamespaces: State["namespaces"] = {
  home: { project: null, sync: null, syncFrom: null },
  web: { project: "web", sync: "enabled", syncFrom: null },
  pay: { project: "pay-eu", sync: "enabled", syncFrom: null },
};

/** The desired part of an object, as stored in the API server. */
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
