import { annotations } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";

/** What one run sees of the cluster, so that runs beside it and before it do not matter. */
export interface View {
  /** Namespaces, objects and requesters of the run begin with it. */
  readonly prefix: string;
  /** Latchkey's own namespace in this run. */
  readonly system: string;
}

/** Whether an object is part of the run, or of what all runs share (the admission policies). */
export function isVisible({ prefix, system }: View, plural: string, object: unknown): boolean {
  if (plural.endsWith("policies") || plural.endsWith("policybindings")) return true;
  const metadata = recordAt(object, "metadata");
  const namespace = stringAt(metadata, "namespace");
  if (namespace !== undefined) return namespace === system || namespace.startsWith(prefix);
  const requester = stringAt(recordAt(metadata, "annotations"), annotations.requester);
  return [stringAt(metadata, "name"), requester].some((name) => name?.startsWith(prefix));
}
